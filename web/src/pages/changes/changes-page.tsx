// What changed between two times: nodes and edges of the graph, columns, durations of jobs, and what people said. A tab for each, with its count.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useAsk } from "../../api/queries.ts";
import { count } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Page } from "../../parts/page.tsx";
import type { changes as changesSearch } from "../../search-params.ts";
import { Between } from "./between.tsx";
import { ColumnChanges } from "./column-changes.tsx";
import { EdgeChanges } from "./edge-changes.tsx";
import { NodeChanges } from "./node-changes.tsx";
import { PeopleChanges } from "./people-changes.tsx";
import { SlowerJobs } from "./slower-jobs.tsx";
import { TabBar } from "../../parts/tab-bar.tsx";

export type ChangesSearch = ReturnType<typeof changesSearch>;
export interface ChangesTabProps {
  search: ChangesSearch;
  change(patch: ChangesSearch): void;
}

const TABS = [
  ["nodes", "Datasets and jobs"],
  ["edges", "Edges"],
  ["columns", "Columns"],
  ["slower", "Slower jobs"],
  ["people", "By people"],
] as const;
type Tab = (typeof TABS)[number][0];

const route = getRouteApi("/changes/{-$tab}");

export function ChangesPage() {
  const { tab } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  // To the minute, so that the question stays the same while the page is open.
  const dayAgo = useMemo(() => Math.floor(Date.now() / 60_000) * 60_000 - 86_400_000, []);
  const since = search.since ?? new Date(dayAgo).toISOString().replace(/\.\d+Z$/, "Z");
  const until = search.until ?? search.asOf;
  const change = (patch: ChangesSearch) => void navigate({ to: ".", search: (now) => ({ ...now, ...patch }) as never });
  const difference = useAsk("/api/v2/lineage/diff", {
    query: { from: since, to: until, namespace: search.namespace, columns: true, max_nodes: 20_000 },
  });
  const slower = useAsk("/api/v2/slower", { query: { since, limit: 100 } });
  const people = useAsk("/api/v2/changes", { query: { author: search.author, since, until, limit: 0 } });
  const graph = difference.data;
  const counts: Record<Tab, number | undefined> = {
    nodes: graph && graph.nodes.added.length + graph.nodes.removed.length,
    edges: graph && graph.edges.added.length + graph.edges.removed.length,
    columns: graph?.schemas.length,
    slower: slower.data?.slower.length,
    people: people.data?.total,
  };
  const on = TABS.find(([one]) => one === tab)?.[0] ?? "nodes";
  return (
    <Page
      title="What changed"
      lede="Between two times: what appeared, what went, what changed its columns, got slower, and what people said."
      tabs={
        <>
          <Between since={since} until={until} change={change} />
          <TabBar label="What changed">
            {TABS.map(([one, word]) => (
              <Link
                key={one}
                from="/changes/{-$tab}"
                to="/changes/{-$tab}"
                params={{ tab: one === "nodes" ? undefined : one }}
                search={(now) => ({ ...now, page: undefined, kind: undefined })}
                className={`tab${one === on ? " is-on" : ""}`}
                activeOptions={{ exact: true }}
                aria-current={one === on ? "page" : undefined}
              >
                {word}
                {counts[one] !== undefined && <span className="tab-count">{count(counts[one])}</span>}
              </Link>
            ))}
          </TabBar>
        </>
      }
    >
      {on === "people" && <PeopleChanges since={since} until={until} author={search.author} />}
      {on === "slower" && (
        <Answered of={slower} lines={6}>
          {({ slower: rows }) => <SlowerJobs rows={rows} />}
        </Answered>
      )}
      {on !== "people" && on !== "slower" && (
        <Answered of={difference} lines={6}>
          {(answer) => (
            <>
              {!answer.complete && (
                <p className="notice-line">One of the two graphs was cut: choose a namespace to see all of it.</p>
              )}
              {on === "nodes" && <NodeChanges nodes={answer.nodes} since={since} search={search} change={change} />}
              {on === "edges" && <EdgeChanges edges={answer.edges} search={search} change={change} />}
              {on === "columns" && <ColumnChanges schemas={answer.schemas} search={search} change={change} />}
            </>
          )}
        </Answered>
      )}
    </Page>
  );
}
