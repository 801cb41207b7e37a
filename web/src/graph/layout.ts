// Where everything goes: a layered layout, left to right, over typed arrays. Pure and deterministic: the answer
// depends on the ids, sizes and edges, not on the order they came in. Runs as it is in a worker (layout.worker.ts).
import { backEdges, outgoing } from "./cycles.ts";
import { extend, type Placed } from "./extend.ts";
import { type Layered, order } from "./order.ts";
import { place } from "./place.ts";
import { layers } from "./ranks.ts";
import { spread } from "./spread.ts";

export interface LayoutInput {
  ids: readonly string[];
  width: Float64Array;
  height: Float64Array;
  /** Distance from a node's top to where its edges attach. */
  anchor: Float64Array;
  /** The first layer a node may stand in. */
  lowest: Int32Array;
  /** Edges as indices into `ids`. */
  source: Int32Array;
  target: Int32Array;
  layerGap: number;
  nodeGap: number;
  /** Width over height of what it is drawn on; 0 leaves layers one column wide. */
  aspect: number;
  /** Where nodes stood before; null draws anew. */
  placed?: Placed | null;
}

export interface Layout {
  /** Top left corner of each node. */
  x: Float64Array;
  y: Float64Array;
  layer: Int32Array;
  /** 1 for an edge that runs right to left, because it closes a cycle. */
  reversed: Uint8Array;
  /** Edge e passes the layers between its ends at `bends[bendStart[e]..bendStart[e+1])`: triples left, right, y. */
  bendStart: Int32Array;
  bends: Float64Array;
  width: number;
  height: number;
  /** Of a drawing made anew; 0 for one that was extended. */
  crossings: number;
}

const BEND_HEIGHT = 10;
const BEND_WEIGHT = 4;

export function layOut(input: LayoutInput): Layout {
  if (input.placed) return extend(input, input.placed);
  const n = input.ids.length;
  const byId = Int32Array.from(input.ids.keys()).sort((a, b) => compare(input.ids[a], input.ids[b]));
  const rank = new Int32Array(n);
  for (let i = 0; i < n; i++) rank[byId[i]] = i;

  // Edges in an order of their own, without loops on one node and without repeats.
  const edges = input.source.length;
  const kept: number[] = [];
  const seen = new Map<number, number>();
  const sorted = Array.from({ length: edges }, (_, e) => e).sort(
    (a, b) => rank[input.source[a]] - rank[input.source[b]] || rank[input.target[a]] - rank[input.target[b]] || a - b,
  );
  const twin = new Int32Array(edges).fill(-1);
  for (const e of sorted) {
    if (input.source[e] === input.target[e]) continue;
    const key = rank[input.source[e]] * n + rank[input.target[e]];
    const known = seen.get(key);
    if (known === undefined) {
      seen.set(key, kept.length);
      twin[e] = kept.length;
      kept.push(e);
    } else twin[e] = known;
  }
  const from = Int32Array.from(kept, (e) => rank[input.source[e]]);
  const to = Int32Array.from(kept, (e) => rank[input.target[e]]);
  const backwards = backEdges(n, from, to);
  for (let e = 0; e < from.length; e++) if (backwards[e]) [from[e], to[e]] = [to[e], from[e]];
  const layerOf = layers(
    from,
    to,
    Int32Array.from(byId, (v) => input.lowest[v]),
  );
  trimLeft(layerOf);

  // A long edge becomes a chain of bends, one in each layer it passes.
  const firstBend = new Int32Array(from.length + 1);
  for (let e = 0; e < from.length; e++) firstBend[e + 1] = firstBend[e] + layerOf[to[e]] - layerOf[from[e]] - 1;
  const count = n + firstBend[from.length];
  const layer = new Int32Array(count);
  layer.set(layerOf);
  const segmentFrom: number[] = [];
  const segmentTo: number[] = [];
  for (let e = 0; e < from.length; e++) {
    let previous = from[e];
    for (let b = firstBend[e]; b < firstBend[e + 1]; b++) {
      layer[n + b] = layerOf[from[e]] + 1 + b - firstBend[e];
      segmentFrom.push(previous);
      segmentTo.push(n + b);
      previous = n + b;
    }
    segmentFrom.push(previous);
    segmentTo.push(to[e]);
  }
  const graph = adjacency(layer, Int32Array.from(segmentFrom), Int32Array.from(segmentTo));
  const { rows, crossings } = order(graph);

  const above = new Float64Array(count).fill(BEND_HEIGHT / 2);
  const below = new Float64Array(count).fill(BEND_HEIGHT / 2);
  const weight = new Float64Array(count).fill(BEND_WEIGHT);
  for (let i = 0; i < n; i++) {
    const v = byId[i];
    above[i] = input.anchor[v] + input.nodeGap / 2;
    below[i] = input.height[v] - input.anchor[v] + input.nodeGap / 2;
    weight[i] = 1;
  }
  const anchorY = place(graph, rows, above, below, weight);

  // Columns of the drawing: each layer as wide as its widest node, as often as it has columns.
  const left = new Float64Array(rows.length);
  const span = new Float64Array(rows.length);
  for (let l = 0; l < rows.length; l++)
    for (const v of rows[l]) if (v < n) span[l] = Math.max(span[l], input.width[byId[v]]);
  const { columns, column } = spread(rows, n, anchorY, above, below, span, input.layerGap, input.nodeGap, input.aspect);
  const full = (l: number) => columns[l] * span[l] + (columns[l] - 1) * input.nodeGap;
  for (let l = 1; l < rows.length; l++) left[l] = left[l - 1] + full(l - 1) + input.layerGap;
  const x = new Float64Array(n);
  const y = new Float64Array(n);
  const outLayer = new Int32Array(n);
  let top = Number.POSITIVE_INFINITY;
  let bottom = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < n; i++) {
    top = Math.min(top, anchorY[i] - input.anchor[byId[i]]);
    bottom = Math.max(bottom, anchorY[i] + input.height[byId[i]] - input.anchor[byId[i]]);
  }
  for (let b = n; b < count; b++) {
    top = Math.min(top, anchorY[b]);
    bottom = Math.max(bottom, anchorY[b]);
  }
  for (let i = 0; i < n; i++) {
    const v = byId[i];
    x[v] = left[layer[i]] + column[i] * (span[layer[i]] + input.nodeGap) + (span[layer[i]] - input.width[v]) / 2;
    y[v] = anchorY[i] - input.anchor[v] - top;
    outLayer[v] = layer[i];
  }

  const reversed = new Uint8Array(edges);
  const bendStart = new Int32Array(edges + 1);
  for (let e = 0; e < edges; e++) {
    const k = twin[e];
    bendStart[e + 1] = bendStart[e] + (k < 0 ? 0 : 3 * (firstBend[k + 1] - firstBend[k]));
  }
  const bends = new Float64Array(bendStart[edges]);
  for (let e = 0; e < edges; e++) {
    const k = twin[e];
    if (k < 0) {
      reversed[e] = 1;
      continue;
    }
    reversed[e] = backwards[k];
    for (let b = firstBend[k], o = bendStart[e]; b < firstBend[k + 1]; b++, o += 3) {
      bends[o] = left[layer[n + b]];
      bends[o + 1] = left[layer[n + b]] + full(layer[n + b]);
      bends[o + 2] = anchorY[n + b] - top;
    }
  }
  const last = rows.length - 1;
  return {
    x,
    y,
    layer: outLayer,
    reversed,
    bendStart,
    bends,
    width: n ? left[last] + full(last) : 0,
    height: n ? bottom - top : 0,
    crossings,
  };
}

/** Code unit order, not the reader's locale: the same drawing everywhere. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function trimLeft(layer: Int32Array) {
  let lowest = Number.POSITIVE_INFINITY;
  for (const l of layer) lowest = Math.min(lowest, l);
  if (lowest > 0) for (let v = 0; v < layer.length; v++) layer[v] -= lowest;
}

function adjacency(layer: Int32Array, from: Int32Array, to: Int32Array): Layered {
  const down = outgoing(layer.length, from);
  const up = outgoing(layer.length, to);
  return {
    layer,
    downStart: down.start,
    down: down.list.map((e) => to[e]),
    upStart: up.start,
    up: up.list.map((e) => from[e]),
  };
}
