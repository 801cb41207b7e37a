import { useMemo, useState } from "react";
import { useAsk } from "../../api/queries.ts";
import type { Run } from "../../api/types.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { runColumns } from "../run/run-columns.tsx";
import type { JobTabProps } from "./job-page.tsx";

const NO_NAMES = new Map<string, string>();

export function RunsTab({ job }: JobTabProps) {
  const [page, setPage] = useState(1);
  const list = useAsk(
    "/api/v2/runs",
    { query: { job: job.id, limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  const rows = list.data?.runs;
  const columns = useMemo(
    () => runColumns(NO_NAMES, Math.max(...(rows ?? []).map((run) => run.duration_ms ?? 0), 1), false),
    [rows],
  );
  return (
    <Answered of={list} lines={8}>
      {({ total }) => (
        <Table<Run>
          label="Runs"
          columns={columns}
          rows={rows ?? []}
          keyOf={(run) => run.id}
          total={total}
          state={{ page }}
          onState={(next) => setPage(next.page ?? 1)}
          empty={<Empty title="This job has not run yet" />}
        />
      )}
    </Answered>
  );
}
