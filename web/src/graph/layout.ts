// Where everything goes: a layered layout, left to right, over typed arrays. Pure and deterministic: the answer
// depends on the ids, sizes and edges, not on the order they came in. Runs as it is in a worker (layout.worker.ts).
import { backEdges, outgoing } from "./cycles.ts";
import { extend, type Placed } from "./extend.ts";
import { type Layered, order } from "./order.ts";
import { place } from "./place.ts";
import { layers } from "./ranks.ts";
import { spread } from "./spread.ts";
import { type Layers, ROW_GAP, wrap } from "./wrap.ts";

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
  /** Edge e passes the layers between its ends at `bends[bendStart[e]..bendStart[e+1])`: triples left, right, y. Where left is right of right, it turns
   * back to the beginning of the next row. */
  bendStart: Int32Array;
  bends: Float64Array;
  width: number;
  height: number;
  /** Rows under one another that a long chain is set in; 1: none. */
  rows: number;
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
  const rowed = wrap(layersOf(rows, layer, anchorY, { n, left, full, above, below, edges: segmentFrom }), input.aspect);
  const rowOf = (l: number) => (rowed ? rowed.row[l] : 0);
  const dx = (l: number) => (rowed ? rowed.dx[rowOf(l)] : 0);
  const dy = (l: number) => (rowed ? rowed.dy[rowOf(l)] : 0);
  const x = new Float64Array(n);
  const y = new Float64Array(n);
  const outLayer = new Int32Array(n);
  let top = Number.POSITIVE_INFINITY;
  let bottom = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < n; i++) {
    const at = anchorY[i] + dy(layer[i]) - input.anchor[byId[i]];
    top = Math.min(top, at);
    bottom = Math.max(bottom, at + input.height[byId[i]]);
  }
  for (let b = n; b < count; b++) {
    top = Math.min(top, anchorY[b] + dy(layer[b]));
    bottom = Math.max(bottom, anchorY[b] + dy(layer[b]));
  }
  for (let i = 0; i < n; i++) {
    const v = byId[i];
    const l = layer[i];
    x[v] = left[l] + dx(l) + column[i] * (span[l] + input.nodeGap) + (span[l] - input.width[v]) / 2;
    y[v] = anchorY[i] + dy(l) - input.anchor[v] - top;
    outLayer[v] = l;
  }

  const reversed = new Uint8Array(edges);
  const bendStart = new Int32Array(edges + 1);
  const bends: number[] = [];
  const turns = new Int32Array(rowed ? rowed.right.length : 0);
  for (let e = 0; e < edges; e++) {
    const k = twin[e];
    if (k < 0) reversed[e] = 1;
    else {
      reversed[e] = backwards[k];
      let here = layer[from[k]];
      const pass = (l: number) => {
        // To the next row: back to its beginning through the gap, each edge in a lane of its own.
        for (; rowed && rowOf(here) < rowOf(l); here++) {
          const r = rowOf(here);
          if (r === rowOf(here + 1)) continue;
          const lane = ROW_GAP * (0.3 + 0.06 * (turns[r]++ % 8));
          bends.push(rowed.right[r], 0, rowed.bottom[r] + lane - top);
        }
        here = l;
      };
      for (let b = firstBend[k]; b < firstBend[k + 1]; b++) {
        const l = layer[n + b];
        pass(l);
        bends.push(left[l] + dx(l), left[l] + dx(l) + full(l), anchorY[n + b] + dy(l) - top);
      }
      pass(layer[to[k]]);
    }
    bendStart[e + 1] = bends.length;
  }
  const last = rows.length - 1;
  return {
    x,
    y,
    layer: outLayer,
    reversed,
    bendStart,
    bends: Float64Array.from(bends),
    width: n ? (rowed?.width ?? left[last] + full(last)) : 0,
    height: n ? bottom - top : 0,
    rows: rowed ? rowed.right.length : 1,
    crossings,
  };
}

interface Columns {
  /** How many of the vertices are nodes. */
  n: number;
  left: Float64Array;
  full(l: number): number;
  above: Float64Array;
  below: Float64Array;
  /** Where each segment of an edge begins. */
  edges: readonly number[];
}

function layersOf(
  rows: readonly Int32Array[],
  layer: Int32Array,
  anchorY: Float64Array,
  { n, left, full, above, below, edges }: Columns,
): Layers {
  const found: Layers = {
    left,
    width: Float64Array.from(rows, (_, l) => full(l)),
    top: new Float64Array(rows.length),
    bottom: new Float64Array(rows.length),
    passing: new Int32Array(rows.length),
  };
  rows.forEach((row, l) => {
    const reach = (v: number, side: Float64Array) => (v < n ? side[v] : 0);
    found.top[l] = row.reduce((least, v) => Math.min(least, anchorY[v] - reach(v, above)), Number.POSITIVE_INFINITY);
    found.bottom[l] = row.reduce((most, v) => Math.max(most, anchorY[v] + reach(v, below)), Number.NEGATIVE_INFINITY);
  });
  for (const v of edges) found.passing[layer[v]]++;
  return found;
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
