import { useCallback, useEffect, useMemo, useState } from "react";
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
import { type Column, Table } from "../../parts/table.tsx";
import { toggled, TreeName } from "../../parts/tree-name.tsx";
import { type TreeRow, withChildren } from "../../parts/tree-rows.ts";
import { When } from "../../parts/when.tsx";
import { Bulk } from "./bulk.tsx";
import { FacetList, Narrow } from "./narrow.tsx";
import { ParentChip } from "./parent-chip.tsx";
import { areJobsFolded, jobsPage, narrowedJobs } from "./questions.ts";
import { useJobChildren } from "./use-children.ts";
import { useList } from "./use-list.ts";

const NONE: ReadonlySet<string> = new Set();
const CLOSED: readonly string[] = [];

export function Jobs() {
  const { search, change } = useList();
  const { q, tag, owner, open = CLOSED } = search;
  const isFolded = areJobsFolded(search);
  const narrowed = narrowedJobs(search);
  const list = useAsk("/api/v2/jobs", jobsPage(search), { keep: true });
  // Asked after the rows are there: the server answers those first.
  const counted = useAsk(
    "/api/v2/jobs",
    { query: { ...narrowed, facets: true, limit: 0 } },
    { keep: true, enabled: list.data !== undefined },
  );
  const rows = list.data?.jobs as JobNode[] | undefined;
  useEffect(() => {
    if (rows) remember(rows);
  }, [rows]);
  const [ticked, setTicked] = useState<ReadonlySet<string>>(NONE);
  const troubles = useTroubles(list.data !== undefined);
  const openKey = open.join("\n");
  const toggle = useCallback(
    (id: string) => change({ open: toggled(openKey ? openKey.split("\n") : [], id) }),
    [openKey, change],
  );
  const below = useJobChildren(isFolded ? open : CLOSED);
  const counts = list.data?.children;
  const shown = useMemo(
    () => (rows ? withChildren({ rows, children: isFolded ? (counts ?? {}) : {} }, below) : []),
    [rows, counts, below, isFolded],
  );
  const names = useMemo(() => distinguish(shown.map(({ item: job }) => job)), [shown]);
  const columns = useMemo<Column<TreeRow<JobNode>>[]>(
    () => [
      {
        id: "name",
        header: "Name",
        wide: true,
        sort: "name",
        value: ({ item: job }) => job.name,
        cell: (row) => (
          <TreeName row={row} noun="job" name={names.get(row.item.id) ?? row.item.name} toggle={toggle}>
            <NodeLink id={row.item.id} label={names.get(row.item.id)} />
          </TreeName>
        ),
      },
      {
        id: "namespace",
        header: "Namespace",
        minor: true,
        value: ({ item: job }) => job.namespace,
        cell: ({ item: job }) => (
          <span className="name soft" title={job.namespace}>
            {shortNamespace(job.namespace)}
          </span>
        ),
      },
      {
        id: "parent",
        header: "Part of",
        minor: true,
        value: ({ item: job }) => job.parent,
        cell: ({ item: job }) => (job.parent ? <NodeLink id={job.parent} /> : <span className="soft">–</span>),
      },
      {
        id: "tags",
        header: "Tags",
        minor: true,
        value: ({ item: job }) => job.tags.join(" "),
        cell: ({ item: job }) => <Tags tags={job.tags} />,
      },
      {
        id: "state",
        header: "Last run",
        value: ({ item: job }) => job.last_run && runState(job.last_run),
        cell: ({ item: job }) =>
          job.last_run ? <State state={runState(job.last_run)} /> : <span className="soft">no run yet</span>,
      },
      {
        id: "took",
        header: "Took",
        number: true,
        minor: true,
        value: ({ item: job }) => job.last_run?.duration_ms,
        cell: ({ item: job }) => duration(job.last_run?.duration_ms ?? null),
      },
      {
        id: "now",
        header: "Now",
        value: ({ item: job }) => troubles.get(job.id)?.kind ?? null,
        cell: ({ item: job }) => <Trouble of={job.id} among={troubles} />,
      },
      {
        id: "updated",
        header: "Last event",
        number: true,
        sort: "updated",
        value: ({ item: job }) => job.updated_at,
        cell: ({ item: job }) => <When at={job.updated_at} />,
      },
    ],
    [names, troubles, toggle],
  );
  return (
    <div className="with-facets">
      <FacetList facets={counted.data?.facets ?? undefined} change={change} />
      <Answered of={list} lines={10}>
        {({ total }) => (
          <Table
            label="Jobs"
            columns={columns}
            rows={shown}
            keyOf={({ item: job }) => job.id}
            pageRows={rows?.length}
            total={total}
            state={search}
            onState={change}
            ticked={ticked}
            onTick={setTicked}
            all={async () => {
              const all = await get("/api/v2/jobs", { query: { ...narrowed, parent: search.parent, limit: 10_000 } });
              return withChildren({ rows: all.jobs as JobNode[], children: {} }, new Map());
            }}
            empty={
              q || search.namespace || tag || owner || search.parent ? (
                <Empty title="No job is like this">Take a word or a facet away.</Empty>
              ) : (
                <Empty title="No job is known yet" command="headwater run PACKAGE">
                  Jobs appear with the first events that name them.
                </Empty>
              )
            }
          >
            <Narrow search={search} change={change} placeholder="Part of a name" />
            {search.parent && <ParentChip parent={search.parent} change={change} />}
            {!q && !tag && !owner && !search.parent && (
              <button
                type="button"
                className="choice"
                aria-pressed={isFolded}
                title="A package or DAG stands for its jobs until it is opened"
                onClick={() => change({ fold: isFolded ? "none" : undefined, open: undefined, page: undefined })}
              >
                Fold packages
              </button>
            )}
            <Bulk
              kind="jobs"
              chosen={shown.flatMap(({ item: job }) => (ticked.has(job.id) ? [job] : []))}
              clear={() => setTicked(NONE)}
            />
          </Table>
        )}
      </Answered>
    </div>
  );
}
