import { useCallback, useEffect, useMemo, useState } from "react";
import { get } from "../../api/client.ts";
import { remember, useAsk } from "../../api/queries.ts";
import { useTroubles } from "../../api/troubles.ts";
import type { JobNode } from "../../api/types.ts";
import { duration, plural, shortNamespace } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Tags } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
import { Trouble } from "../incidents/trouble.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Bulk } from "./bulk.tsx";
import { type JobRow, useChildren, withChildren } from "./folded-jobs.ts";
import { FacetList, Narrow } from "./narrow.tsx";
import { areJobsFolded, jobsPage, narrowedJobs } from "./questions.ts";
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
    (id: string) => {
      const now = openKey ? openKey.split("\n") : [];
      const next = now.includes(id) ? now.filter((one) => one !== id) : [...now, id];
      change({ open: next.length ? next : undefined });
    },
    [openKey, change],
  );
  const below = useChildren(isFolded ? open : CLOSED);
  const counts = list.data?.children;
  const shown = useMemo(
    () => (rows ? withChildren({ jobs: rows, children: isFolded ? (counts ?? {}) : {} }, below) : []),
    [rows, counts, below, isFolded],
  );
  const names = useMemo(() => distinguish(shown.map(({ job }) => job)), [shown]);
  const columns = useMemo<Column<JobRow>[]>(
    () => [
      {
        id: "name",
        header: "Name",
        wide: true,
        sort: "name",
        value: ({ job }) => job.name,
        cell: (row) => <Name row={row} label={names.get(row.job.id)} toggle={toggle} />,
      },
      {
        id: "namespace",
        header: "Namespace",
        minor: true,
        value: ({ job }) => job.namespace,
        cell: ({ job }) => (
          <span className="name soft" title={job.namespace}>
            {shortNamespace(job.namespace)}
          </span>
        ),
      },
      {
        id: "parent",
        header: "Part of",
        minor: true,
        value: ({ job }) => job.parent,
        cell: ({ job }) => (job.parent ? <NodeLink id={job.parent} /> : <span className="soft">–</span>),
      },
      {
        id: "tags",
        header: "Tags",
        minor: true,
        value: ({ job }) => job.tags.join(" "),
        cell: ({ job }) => <Tags tags={job.tags} />,
      },
      {
        id: "state",
        header: "Last run",
        value: ({ job }) => job.last_run && runState(job.last_run),
        cell: ({ job }) =>
          job.last_run ? <State state={runState(job.last_run)} /> : <span className="soft">no run yet</span>,
      },
      {
        id: "took",
        header: "Took",
        number: true,
        minor: true,
        value: ({ job }) => job.last_run?.duration_ms,
        cell: ({ job }) => duration(job.last_run?.duration_ms ?? null),
      },
      {
        id: "now",
        header: "Now",
        value: ({ job }) => troubles.get(job.id)?.kind ?? null,
        cell: ({ job }) => <Trouble of={job.id} among={troubles} />,
      },
      {
        id: "updated",
        header: "Last event",
        number: true,
        sort: "updated",
        value: ({ job }) => job.updated_at,
        cell: ({ job }) => <When at={job.updated_at} />,
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
            keyOf={({ job }) => job.id}
            pageRows={rows?.length}
            total={total}
            state={search}
            onState={change}
            ticked={ticked}
            onTick={setTicked}
            all={async () => {
              const all = await get("/api/v2/jobs", { query: { ...narrowed, parent: undefined, limit: 10_000 } });
              return withChildren({ jobs: all.jobs as JobNode[], children: {} }, new Map());
            }}
            empty={<Empty title="No job is like this">Take a word or a facet away.</Empty>}
          >
            <Narrow search={search} change={change} placeholder="Part of a name" />
            {!q && !tag && !owner && (
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
              chosen={shown.flatMap(({ job }) => (ticked.has(job.id) ? [job] : []))}
              clear={() => setTicked(NONE)}
            />
          </Table>
        )}
      </Answered>
    </div>
  );
}

function Name({ row, label, toggle }: { row: JobRow; label: string | undefined; toggle(id: string): void }) {
  const { job, depth, children, isOpen } = row;
  return (
    <span className="tree-name" style={{ paddingInlineStart: depth * 20 }}>
      <NodeLink id={job.id} label={label} />
      {children > 0 && (
        <button
          type="button"
          className="plain unfold"
          aria-expanded={isOpen}
          aria-label={`${isOpen ? "Fold" : "Unfold"} the ${plural(children, "job")} of ${label ?? job.name}`}
          onClick={() => toggle(job.id)}
        >
          {isOpen ? "▾" : "▸"}
          {children}
        </button>
      )}
    </span>
  );
}
