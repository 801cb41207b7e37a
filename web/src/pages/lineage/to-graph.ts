// The API's answer as the drawing's graph. The only place that knows both.
import type { LineageAnswer, LineageNode } from "../../api/types.ts";
import { ago, duration, plural, shortNamespace } from "../../format.ts";
import type { Graph } from "../../graph/model.ts";
import { distinguish } from "../../names.ts";
import { lookOf } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
import { type Change, edgeKey } from "./difference.ts";
import type { Folded } from "./fold.ts";
import type { LensView } from "./lenses.ts";
import type { SelectableNode } from "./selection.ts";

export interface DrawnGraph extends Graph {
  nodes: readonly SelectableNode[];
}

export function graphOf(
  answer: LineageAnswer,
  folded: Folded,
  lens: LensView | null,
  changes: ReadonlyMap<string, Change>,
): DrawnGraph {
  const names = distinguish(folded.nodes);
  return {
    root: answer.root,
    nodes: [
      ...folded.nodes.map((node) => drawn(node, names.get(node.id) ?? node.label, folded, lens)),
      ...answer.bundles.filter((bundle) => !bundle.is_open).map(bundleNode),
    ],
    edges: folded.edges.map((edge) => ({
      source: edge.source,
      target: edge.target,
      declared: edge.origin !== "OBSERVED",
      origins: [edge.origin],
      intermittent: edge.intermittent,
      change: changes.get(edgeKey(edge)) ?? null,
      count: edge.count,
    })),
    links: folded.column_edges.map((edge) => ({
      source: edge.source,
      sourceField: edge.source_field,
      target: edge.target,
      targetField: edge.target_field,
      job: edge.job,
      indirect: edge.transformations.length > 0 && edge.transformations.every((t) => t.type === "INDIRECT"),
    })),
  };
}

/** Many that are alike, as one card with their number. */
function bundleNode(bundle: LineageAnswer["bundles"][number]): SelectableNode {
  const kind = bundle.kind === "JOB" ? "job" : "dataset";
  const counted = plural(bundle.count, kind);
  return {
    id: bundle.id,
    kind,
    word: "bundle",
    namespace: "",
    parent: null,
    owners: [],
    seenAt: null,
    members: bundle.members,
    label: bundle.label,
    title: `${counted} that are alike: ${bundle.label}`,
    detail: counted,
    fields: [],
    tags: [],
    state: null,
    tint: null,
    note: null,
    folded: bundle.count,
    hop: bundle.hop,
    hiddenUpstream: bundle.hidden_upstream,
    hiddenDownstream: bundle.hidden_downstream,
  };
}

function drawn(node: LineageNode, label: string, folded: Folded, lens: LensView | null): SelectableNode {
  const tinted = lens?.of(node) ?? null;
  const children = folded.inside.get(node.id)?.length ?? 0;
  const shared = {
    id: node.id,
    namespace: node.namespace,
    parent: node.type === "JOB" ? node.parent : null,
    owners: node.owner_names ?? [],
    seenAt: node.type === "JOB" ? (node.last_run?.started_at ?? null) : node.updated_at,
    label,
    title: `${node.namespace} ${node.name}`,
    tags: node.tags,
    hop: node.hop,
    hiddenUpstream: node.hidden_upstream,
    hiddenDownstream: node.hidden_downstream,
    tint: tinted?.tint ?? null,
    note: tinted?.note ?? null,
    folded: children,
  };
  if (node.type === "DATASET")
    return {
      ...shared,
      kind: "dataset",
      detail: tinted?.note ?? shortNamespace(node.namespace),
      fields: node.fields,
      state: null,
    };
  const run = node.last_run;
  const state = run ? runState(run) : null;
  const when = run
    ? state === "COMPLETED"
      ? `${ago(run.started_at)} · ${duration(run.duration_ms)}`
      : run.ended_at === null
        ? `${lookOf(state).word} since ${ago(run.started_at)}`
        : `${lookOf(state).word} ${ago(run.started_at)} · ${duration(run.duration_ms)}`
    : "no run yet";
  return {
    ...shared,
    kind: "job",
    fields: [],
    state: state as SelectableNode["state"],
    detail: children > 0 ? `${plural(children, "job")} · ${when}` : when,
  };
}
