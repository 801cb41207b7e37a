// What the graph page shows, from its address: the answer, what lenses need, the other time, the path.
import { useMemo, useState } from "react";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { type LineageAnswer, type LineageNode, ofNames } from "../../api/types.ts";
import type { Direction, GroupBy, Lens, Only } from "../../search-params.ts";
import { type Change, compare, edgeKey } from "./difference.ts";
import { foldJobs } from "./fold.ts";
import { groupNodes } from "./group.ts";
import { troublesOf, useOpenIncidents } from "../../api/troubles.ts";
import { TONES } from "../../parts/state.tsx";
import { lensView } from "./lenses.ts";
import { graphOfRecords, isNamed, isRecord } from "./records.ts";
import { select } from "./selection.ts";
import { graphOf } from "./to-graph.ts";

export interface View {
  node: string;
  depth: number;
  direction: Direction;
  columns: boolean;
  nodes: number;
  asOf: string | null;
  open: readonly string[];
  unfolded: boolean;
  lens: Lens | undefined;
  group: GroupBy | undefined;
  since: string | null;
  to: string | null;
  filter: string;
  only: Only;
}

/** So many that are alike are drawn one by one; more are one card, until it is opened. */
export const BUNDLE_ABOVE = 100;
export const isBundle = (id: string) => id.startsWith("bundle:");
const DISAGREEMENTS = ["in_no_dag", "untold_by_its_job", "never_seen"];
const NO_CHANGES: ReadonlyMap<string, Change> = new Map();

export function useLineageView(view: View) {
  const { node, direction, depth, columns, nodes: max_nodes } = view;
  const named = isNamed(node);
  const filtered = named && Object.keys(view.only).length > 0;
  // Groups, filters and the comparison of two times look at every node. An answer that had no bundle has every node.
  const [mayBundle, setMayBundle] = useState(true);
  const asksAll = !named || filtered || view.since !== null || (view.group !== undefined && mayBundle);
  const bundle = asksAll ? undefined : BUNDLE_ABOVE;
  const opened = bundle && view.open.filter(isBundle);
  const query = {
    node,
    direction,
    depth,
    columns: named && (columns || view.lens === "completeness"),
    max_nodes,
    bundle,
    opened,
    ...(filtered && { ...view.only, seen: undefined, since: view.only.seen }),
  };
  const lineage = useAsk("/api/v2/lineage", { query: { ...query, as_of: view.asOf } }, { keep: true });
  if (bundle && lineage.data && !lineage.isPlaceholderData) {
    const isBundled = lineage.data.bundles.length > 0;
    if (isBundled !== mayBundle) setMayBundle(isBundled);
  }
  // Cards with columns wait for the answer that has their edges: all is placed once.
  const [drawsColumns, setDrawsColumns] = useState(columns);
  if (drawsColumns !== columns && !lineage.isPlaceholderData) setDrawsColumns(columns);
  const earlier = useAsk(
    "/api/v2/lineage",
    { query: { ...query, as_of: view.since } },
    { enabled: view.since !== null },
  );
  const path = useAsk(
    "/api/v2/paths",
    { query: { from: node, to: view.to ?? "", as_of: view.asOf } },
    { enabled: view.to !== null },
  );
  const fresh = useAsk("/api/v2/freshness", { query: { limit: 10_000 } }, { enabled: view.lens === "freshness" });
  const entities = useAsk("/api/v2/entities", { query: { limit: 10_000 } }, { enabled: view.lens === "validity" });
  const incidents = useOpenIncidents(view.lens === "incidents");
  const usage = useAsk("/api/v2/usage", { query: { limit: 10_000 } }, { enabled: view.lens === "usage" });
  const cost = useAsk("/api/v2/cost", { query: { grain: "table", limit: 10_000 } }, { enabled: view.lens === "cost" });
  const seen = useAsk(
    "/api/v2/perspectives",
    { query: { disagreement: view.lens === "disagreement" ? DISAGREEMENTS : undefined, limit: 10_000 } },
    { enabled: view.lens === "disagreement" || view.lens === "perspective" },
  );

  const answer = useMemo(() => lineage.data && ofNames(lineage.data), [lineage.data]);
  const was = useMemo(() => earlier.data && ofNames(earlier.data), [earlier.data]);
  const before = view.since === null ? undefined : earlier.error ? null : was;
  const difference = useMemo(
    () => (answer && before !== undefined && view.since !== null ? compare(before, answer) : null),
    [answer, before, view.since],
  );
  const along = path.data;
  const shown = useMemo(() => {
    const base = difference?.union ?? answer;
    return base && along ? withPath(base, along.nodes, along.edges) : base;
  }, [answer, difference, along]);
  const openKey = view.open.join("\n");
  const folded = useMemo(
    () =>
      shown ? foldJobs(shown, new Set(openKey ? openKey.split("\n") : []), view.unfolded || view.to !== null) : null,
    [shown, openKey, view.unfolded, view.to],
  );
  const asked = { incidents, validity: entities, freshness: fresh, usage, cost, perspective: seen, disagreement: seen };
  const question = !difference && view.lens && view.lens in asked ? asked[view.lens as keyof typeof asked] : null;
  // Nothing is said of a node before the answer is there, or without one.
  const unanswered =
    question?.data === undefined && question ? (question.error ? question.error.message : "looking it up…") : null;
  const lens = useMemo(() => {
    if (!folded) return null;
    if (unanswered) return { of: () => null, legend: [{ tint: TONES.none, word: unanswered }] };
    return lensView(difference ? "changed" : view.lens, folded.nodes, {
      freshness: new Map(fresh.data?.freshness.map((one) => [one.id, one.state])),
      troubles: incidents.data && troublesOf(incidents.data.incidents),
      entities: entities.data?.entities,
      money: new Map(cost.data?.costs.flatMap((one) => (one.id && one.money !== null ? [[one.id, one.money]] : []))),
      perspectives: seen.data && perspectivesOf(seen.data),
      disagreements: new Map(
        seen.data?.edges.flatMap((one) => (one.disagreement ? [[one.target, one.disagreement]] : [])),
      ),
      traced: tracedIn(folded.column_edges),
      written: new Set(folded.edges.map((edge) => edge.target)),
      reads: new Map(usage.data?.datasets.map((one) => [one.id, one.reads])),
      changes: difference?.nodes,
    });
  }, [
    folded,
    difference,
    view.lens,
    fresh.data,
    usage.data,
    cost.data,
    seen.data,
    incidents.data,
    entities.data,
    unanswered,
  ]);
  const whole = useMemo(
    () => (shown && folded ? graphOf(shown, folded, lens, difference?.edges ?? NO_CHANGES) : null),
    [shown, folded, lens, difference],
  );
  const grouped = useMemo(
    () => (whole && view.group ? groupNodes(whole, view.group, new Set(openKey ? openKey.split("\n") : [])) : null),
    [whole, view.group, openKey],
  );
  // Single runs and what they made, drawn alike.
  const records = useMemo(
    () => (lineage.data?.nodes.some(isRecord) ? graphOfRecords(lineage.data) : null),
    [lineage.data],
  );
  const graph = records ?? grouped?.graph ?? whole;
  const route = useMemo(() => {
    if (!graph) return null;
    if (along && view.to !== null) return new Set(along.paths.flatMap((one) => one.nodes));
    return select(view.filter, graph.nodes, graph.edges);
  }, [graph, along, view.to, view.filter]);
  return {
    lineage,
    answer: shown,
    folded,
    graph,
    drawsColumns,
    grouped,
    records,
    lens,
    route,
    path,
    difference,
    earlier,
  };
}

/** Who reports the edges of each dataset and job, by name. */
function perspectivesOf({ edges, total }: Answer<"/api/v2/perspectives">): { of: Map<string, string>; cut: boolean } {
  const found = new Map<string, Set<string>>();
  const add = (id: string, name: string) => {
    const names = found.get(id);
    if (names) names.add(name);
    else found.set(id, new Set([name]));
  };
  for (const { source, target, jobs } of edges)
    for (const [name, ids] of Object.entries(jobs)) for (const id of [source, target, ...ids]) add(id, name);
  return {
    of: new Map([...found].map(([id, names]) => [id, [...names].sort().join(", ")])),
    cut: total > edges.length,
  };
}

/** Dataset → its columns that some column edge ends in. */
function tracedIn(edges: LineageAnswer["column_edges"]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { target, target_field } of edges) {
    if (target_field === null) continue;
    const fields = found.get(target);
    if (fields) fields.add(target_field);
    else found.set(target, new Set([target_field]));
  }
  return found;
}

/** What a path passes is shown even where the walk did not get. */
function withPath(
  base: LineageAnswer,
  nodes: readonly unknown[],
  edges: readonly Omit<LineageAnswer["edges"][number], "count" | "via">[],
): LineageAnswer {
  const known = new Set(base.nodes.map((node) => node.id));
  const drawn = new Set(base.edges.map(edgeKey));
  const more = (nodes as LineageNode[])
    .filter((node) => !known.has(node.id))
    .map((node) => ({ ...node, hop: node.hop ?? 0, hidden_upstream: 0, hidden_downstream: 0 }));
  return {
    ...base,
    nodes: [...base.nodes, ...more],
    edges: [
      ...base.edges,
      ...edges.filter((edge) => !drawn.has(edgeKey(edge))).map((edge) => ({ ...edge, count: 1, via: 0 })),
    ],
  };
}
