// Which layer each node stands in: longest path from the sources, then pulled to where its edges are shorter.
import { outgoing } from "./cycles.ts";

/**
 * `from`/`to` must be acyclic. `lowest[v]` is the first layer v may take (jobs start at 1, so that
 * datasets and jobs alternate). Every edge ends at least one layer to the right of where it starts.
 */
export function layers(from: Int32Array, to: Int32Array, lowest: Int32Array): Int32Array {
  const count = lowest.length;
  const layer = lowest.slice();
  const indegree = new Int32Array(count);
  for (const v of to) indegree[v]++;
  const out = outgoing(count, from);
  const order = new Int32Array(count);
  let tail = 0;
  for (let v = 0; v < count; v++) if (indegree[v] === 0) order[tail++] = v;
  for (let head = 0; head < tail; head++) {
    const v = order[head];
    for (let i = out.start[v]; i < out.start[v + 1]; i++) {
      const w = to[out.list[i]];
      if (layer[w] < layer[v] + 1) layer[w] = layer[v] + 1;
      if (--indegree[w] === 0) order[tail++] = w;
    }
  }
  if (tail !== count) throw new Error("layers() was given a cycle");
  tighten(to, layer, order, out);
  return layer;
}

/** A node with more edges to the right than to the left moves right as far as its targets let it. */
function tighten(to: Int32Array, layer: Int32Array, order: Int32Array, out: { start: Int32Array; list: Int32Array }) {
  const indegree = new Int32Array(layer.length);
  for (const v of to) indegree[v]++;
  for (let pass = 0; pass < 4; pass++) {
    let moved = false;
    for (let k = order.length - 1; k >= 0; k--) {
      const v = order[k];
      const degree = out.start[v + 1] - out.start[v];
      if (degree === 0 || degree <= indegree[v]) continue;
      let right = Number.POSITIVE_INFINITY;
      for (let i = out.start[v]; i < out.start[v + 1]; i++) right = Math.min(right, layer[to[out.list[i]]] - 1);
      if (right > layer[v]) {
        layer[v] = right;
        moved = true;
      }
    }
    if (!moved) return;
  }
}
