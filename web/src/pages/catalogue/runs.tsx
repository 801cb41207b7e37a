import { useMemo } from "react";
import { useAsk } from "../../api/queries.ts";
import type { Run } from "../../api/types.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Table } from "../../parts/table.tsx";
import { runColumns } from "../run/run-columns.tsx";
import { runsPage } from "./questions.ts";
import { useList } from "./use-list.ts";

const STATES = ["RUNNING", "COMPLETED", "FAILED", "ABORTED"] as const;

export function Runs() {
  const { search, change } = useList();
  const { state, stalled, label } = search;
  const list = useAsk("/api/v2/runs", runsPage(search), { keep: true });
  const rows = list.data?.runs;
  const columns = useMemo(() => {
    const names = distinguish((rows ?? []).map((run) => ({ id: run.job })));
    const longest = Math.max(...(rows ?? []).map((run) => run.duration_ms ?? 0), 1);
    return runColumns(names, longest);
  }, [rows]);
  return (
    <Answered of={list} lines={10}>
      {({ total }) => (
        <Table<Run>
          label="Runs"
          columns={columns}
          rows={rows ?? []}
          keyOf={(run) => `${run.id} ${run.job}`}
          total={total}
          state={search}
          onState={change}
          empty={
            <Empty title={`No run is ${stalled ? "stalled" : (state ?? "known").toLowerCase()}`}>
              Choose another state.
            </Empty>
          }
        >
          {label && (
            <button
              type="button"
              className="chip"
              title="Do not narrow by this label"
              onClick={() => change({ label: undefined, page: undefined })}
            >
              label: {label} <span aria-hidden="true">×</span>
            </button>
          )}
          <span className="choices" role="group" aria-label="State">
            <button
              type="button"
              className="choice"
              aria-pressed={!state && !stalled}
              onClick={() => change({ state: undefined, stalled: undefined, page: undefined })}
            >
              all
            </button>
            {STATES.map((one) => (
              <button
                type="button"
                className="choice"
                key={one}
                aria-pressed={state === one}
                onClick={() => change({ state: one, stalled: undefined, page: undefined })}
              >
                {one.toLowerCase()}
              </button>
            ))}
            <button
              type="button"
              className="choice"
              aria-pressed={stalled ?? false}
              onClick={() => change({ stalled: true, state: undefined, page: undefined })}
            >
              stalled
            </button>
          </span>
        </Table>
      )}
    </Answered>
  );
}
