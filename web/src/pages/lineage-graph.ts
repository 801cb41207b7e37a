// The API's answer as the drawing's graph. The only place that knows both.
import type { Lineage, LineageNode } from "../api/types.ts";
import { ago, duration, shortNamespace } from "../format.ts";
import type { Graph, GraphNode } from "../graph/model.ts";

export function graphOf(answer: Lineage): Graph {
  return {
    root: answer.root,
    nodes: answer.nodes.map(nodeOf),
    edges: answer.edges.map(({ source, target, origin }) => ({ source, target, declared: origin !== "OBSERVED" })),
    links: answer.column_edges.map((edge) => ({
      source: edge.source,
      sourceField: edge.source_field,
      target: edge.target,
      targetField: edge.target_field,
      job: edge.job,
      indirect: edge.transformations.length > 0 && edge.transformations.every((t) => t.type === "INDIRECT"),
    })),
  };
}

function nodeOf(node: LineageNode): GraphNode {
  const shared = {
    id: node.id,
    label: node.label,
    title: `${node.namespace} ${node.name}`,
    tags: node.tags,
    hop: node.hop,
    hiddenUpstream: node.hidden_upstream,
    hiddenDownstream: node.hidden_downstream,
  };
  if (node.type === "DATASET")
    return { ...shared, kind: "dataset", detail: shortNamespace(node.namespace), fields: node.fields, state: null };
  const run = node.last_run;
  return {
    ...shared,
    kind: "job",
    fields: [],
    state: run?.state ?? null,
    detail: run
      ? run.state === "RUNNING"
        ? `running since ${ago(run.started_at)}`
        : `${ago(run.started_at)} · ${duration(run.duration_ms)}`
      : "no run yet",
  };
}
