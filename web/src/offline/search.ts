// What a text finds in a graph: tables first, then columns, those that begin with it before those that hold it.
import type { Graph } from "../graph/model.ts";

export interface Hit {
  node: string;
  title: string;
  field: string | null;
}

export function found(graph: Graph, text: string): Hit[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const ranked: [number, Hit][] = [];
  for (const node of graph.nodes) {
    const rank = rankOf(node.title, wanted, node.label);
    if (rank !== null) ranked.push([rank, { node: node.id, title: node.title, field: null }]);
    for (const { name } of node.fields) {
      const inner = rankOf(name, wanted, name);
      if (inner !== null) ranked.push([inner + 3, { node: node.id, title: node.title, field: name }]);
    }
  }
  return ranked.sort((a, b) => a[0] - b[0]).map(([, hit]) => hit);
}

function rankOf(name: string, wanted: string, last: string): number | null {
  if (last.toLowerCase() === wanted) return 0;
  if (last.toLowerCase().startsWith(wanted)) return 1;
  return name.toLowerCase().includes(wanted) ? 2 : null;
}
