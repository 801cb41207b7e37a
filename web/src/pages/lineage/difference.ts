// The graphs of two times as one: the union, and what became of each part. On one layout nothing jumps.
import type { LineageAnswer } from "../../api/types.ts";

export type Change = "added" | "gone" | "changed";

export interface Difference {
  union: LineageAnswer;
  nodes: Map<string, Change>;
  /** `source\ntarget` → what became of the edge. */
  edges: Map<string, Change>;
}

export const edgeKey = (edge: { source: string; target: string }) => `${edge.source}\n${edge.target}`;

export function compare(before: LineageAnswer | null, after: LineageAnswer): Difference {
  const nodes = new Map<string, Change>();
  const edges = new Map<string, Change>();
  const was = new Map(before?.nodes.map((node) => [node.id, node]));
  const is = new Set(after.nodes.map((node) => node.id));
  for (const node of after.nodes) {
    const earlier = was.get(node.id);
    if (!earlier) nodes.set(node.id, "added");
    else if (node.type === "DATASET" && earlier.type === "DATASET" && columns(node) !== columns(earlier))
      nodes.set(node.id, "changed");
  }
  const gone = [...was.values()].filter((node) => !is.has(node.id));
  for (const node of gone) nodes.set(node.id, "gone");
  const had = new Map(before?.edges.map((edge) => [edgeKey(edge), edge]));
  const has = new Set(after.edges.map(edgeKey));
  for (const edge of after.edges) {
    const earlier = had.get(edgeKey(edge));
    if (!earlier) edges.set(edgeKey(edge), "added");
    else if (earlier.origin !== edge.origin) edges.set(edgeKey(edge), "changed");
  }
  const lost = [...had.values()].filter((edge) => !has.has(edgeKey(edge)));
  for (const edge of lost) edges.set(edgeKey(edge), "gone");
  return {
    union: { ...after, nodes: [...after.nodes, ...gone], edges: [...after.edges, ...lost] },
    nodes,
    edges,
  };
}

const columns = (node: Extract<LineageAnswer["nodes"][number], { type: "DATASET" }>) =>
  node.fields.map((field) => `${field.name} ${field.type}`).join("\n");
