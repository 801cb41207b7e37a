import { useEffect, useMemo, useState } from "react";
import { get } from "../../api/client.ts";
import { remember, useAsk } from "../../api/queries.ts";
import { useTroubles } from "../../api/troubles.ts";
import type { JobNode } from "../../api/types.ts";
import { duration, shortNamespace } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Tags } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
import { Trouble } from "../incidents/trouble.tsx";
import { type Column, PAGE, Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Bulk } from "./bulk.tsx";
import { FacetList, Narrow } from "./narrow.tsx";
import { useList } from "./use-list.ts";

const NONE: ReadonlySet<string> = new Set();

export function Jobs() {
  const { search, change } = useList();
  const { q, namespace, tag, owner, sort, order, page = 1 } = search;
  const narrowed = { q, namespace, tag, owner, sort, order };
  const list = useAsk(
    "/api/v2/jobs",
    { query: { ...narrowed, limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  // Counted apart: the rows need not wait for it.
  const counted = useAsk("/api/v2/jobs", { query: { ...narrowed, facets: true, limit: 0 } }, { keep: true });
  const rows = list.data?.jobs as JobNode[] | undefined;
  useEffect(() => {
    if (rows) remember(rows);
  }, [rows]);
  const [ticked, setTicked] = useState<ReadonlySet<string>>(NONE);
  const troubles = useTroubles();
  const names = useMemo(() => distinguish(rows ?? []), [rows]);
  const columns = useMemo<Column<JobNode>[]>(
    () => [
      {
        id: "name",
        header: "Name",
        wide: true,
        sort: "name",
        value: (row) => row.name,
        cell: (row) => <NodeLink id={row.id} label={names.get(row.id)} />,
      },
      {
        id: "namespace",
        header: "Namespace",
        minor: true,
        value: (row) => row.namespace,
        cell: (row) => (
          <span className="name soft" title={row.namespace}>
            {shortNamespace(row.namespace)}
          </span>
        ),
      },
      {
        id: "parent",
        header: "Part of",
        minor: true,
        value: (row) => row.parent,
        cell: (row) => (row.parent ? <NodeLink id={row.parent} /> : <span className="soft">–</span>),
      },
      {
        id: "tags",
        header: "Tags",
        minor: true,
        value: (row) => row.tags.join(" "),
        cell: (row) => <Tags tags={row.tags} />,
      },
      {
        id: "state",
        header: "Last run",
        value: (row) => row.last_run && runState(row.last_run),
        cell: (row) =>
          row.last_run ? <State state={runState(row.last_run)} /> : <span className="soft">no run yet</span>,
      },
      {
        id: "took",
        header: "Took",
        number: true,
        minor: true,
        value: (row) => row.last_run?.duration_ms,
        cell: (row) => duration(row.last_run?.duration_ms ?? null),
      },
      {
        id: "now",
        header: "Now",
        value: (row) => troubles.get(row.id) ?? null,
        cell: (row) => <Trouble of={row.id} among={troubles} />,
      },
      {
        id: "updated",
        header: "Last event",
        number: true,
        sort: "updated",
        value: (row) => row.updated_at,
        cell: (row) => <When at={row.updated_at} />,
      },
    ],
    [names, troubles],
  );
  return (
    <div className="with-facets">
      <FacetList facets={counted.data?.facets ?? undefined} change={change} />
      <Answered of={list} lines={10}>
        {({ total }) => (
          <Table
            label="Jobs"
            columns={columns}
            rows={rows ?? []}
            keyOf={(row) => row.id}
            total={total}
            state={search}
            onState={change}
            ticked={ticked}
            onTick={setTicked}
            all={async () => {
              const all = await get("/api/v2/jobs", { query: { ...narrowed, limit: 10_000 } });
              return all.jobs as JobNode[];
            }}
            empty={<Empty title="No job is like this">Take a word or a facet away.</Empty>}
          >
            <Narrow search={search} change={change} placeholder="Part of a name" />
            <Bulk kind="jobs" chosen={(rows ?? []).filter((row) => ticked.has(row.id))} clear={() => setTicked(NONE)} />
          </Table>
        )}
      </Answered>
    </div>
  );
}
