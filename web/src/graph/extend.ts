// A drawing that grows or shrinks: what is placed stays where it is, and what is new goes into the free room nearest to
// its neighbours. Pure and deterministic, like layout.ts, which draws anew where nothing is placed yet.
import type { Layout, LayoutInput } from "./layout.ts";

/** Where the nodes of the input stood before: NaN for a new one. */
export interface Placed {
  x: Float64Array;
  y: Float64Array;
  /** 1: it is on the screen and must not move; 0 with a place: it stood there once, and goes back there if the room is free. */
  held: Uint8Array;
  /** Rows under one another that the drawing was set in (wrap.ts); 1: none. */
  rows: number;
}

/** Cards that stand above each other: a strip of the drawing, with the heights that are taken, sorted. */
interface Column {
  left: number;
  right: number;
  tops: number[];
  ends: number[];
}

export function extend(input: LayoutInput, placed: Placed): Layout {
  const n = input.ids.length;
  const x = new Float64Array(n).fill(Number.NaN);
  const y = new Float64Array(n).fill(Number.NaN);
  for (let v = 0; v < n; v++) {
    if (!placed.held[v]) continue;
    x[v] = placed.x[v];
    y[v] = placed.y[v];
  }
  comeBack(input, placed, x, y);
  const columns = columnsOf(input, x, y);
  placeNew(input, x, y, columns);
  return drawn(input, x, y, columns, placed.rows);
}

const byName = (input: LayoutInput) =>
  Int32Array.from(input.ids.keys()).sort((a, b) =>
    input.ids[a] < input.ids[b] ? -1 : input.ids[a] > input.ids[b] ? 1 : 0,
  );

/** A node that was folded away and comes again goes back to its old room, if nothing took it. */
function comeBack(input: LayoutInput, placed: Placed, x: Float64Array, y: Float64Array) {
  const there = [...x.keys()].filter((v) => !Number.isNaN(x[v]));
  for (const v of byName(input)) {
    if (!Number.isNaN(x[v]) || Number.isNaN(placed.x[v])) continue;
    const [left, top] = [placed.x[v], placed.y[v]];
    const taken = there.some(
      (w) =>
        left < x[w] + input.width[w] &&
        x[w] < left + input.width[v] &&
        top < y[w] + input.height[w] + input.nodeGap - 1e-6 &&
        y[w] < top + input.height[v] + input.nodeGap - 1e-6,
    );
    if (taken) continue;
    x[v] = left;
    y[v] = top;
    there.push(v);
  }
}

/** Strips that no card crosses, from left to right. */
function columnsOf(input: LayoutInput, x: Float64Array, y: Float64Array): Column[] {
  const there = [...x.keys()].filter((v) => !Number.isNaN(x[v])).sort((a, b) => x[a] - x[b]);
  const columns: { left: number; right: number; nodes: number[] }[] = [];
  for (const v of there) {
    const last = columns.at(-1);
    if (last && x[v] < last.right) {
      last.right = Math.max(last.right, x[v] + input.width[v]);
      last.nodes.push(v);
    } else columns.push({ left: x[v], right: x[v] + input.width[v], nodes: [v] });
  }
  return columns.map(({ left, right, nodes }) => {
    nodes.sort((a, b) => y[a] - y[b]);
    return { left, right, tops: nodes.map((v) => y[v]), ends: nodes.map((v) => y[v] + input.height[v]) };
  });
}

/** How many cards of the column end above this height. */
function above(column: Column, top: number): number {
  let low = 0;
  for (let high = column.ends.length; low < high;) {
    const middle = (low + high) >> 1;
    if (column.ends[middle] <= top) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isFree(column: Column, top: number, height: number, gap: number): boolean {
  const next = above(column, top);
  return (
    (next === 0 || column.ends[next - 1] + gap <= top + 1e-6) &&
    (next === column.tops.length || top + height + gap <= column.tops[next] + 1e-6)
  );
}

function take(column: Column, left: number, top: number, width: number, height: number) {
  const next = above(column, top);
  column.tops.splice(next, 0, top);
  column.ends.splice(next, 0, top + height);
  column.left = Math.min(column.left, left);
  column.right = Math.max(column.right, left + width);
}

/** The free top nearest to the one wanted: the gaps above and below are tried outwards. */
function nearestTop(column: Column, wanted: number, height: number, gap: number): number {
  if (isFree(column, wanted, height, gap)) return wanted;
  const { tops, ends } = column;
  let best = Number.NaN;
  const offer = (top: number) => {
    if (Number.isNaN(best) || Math.abs(top - wanted) < Math.abs(best - wanted)) best = top;
  };
  const start = above(column, wanted);
  for (let i = start; i < tops.length; i++) {
    const top = ends[i] + gap;
    if (i + 1 === tops.length || top + height + gap <= tops[i + 1]) {
      offer(top);
      break;
    }
  }
  for (let i = Math.min(start, tops.length - 1); i >= 0; i--) {
    const top = tops[i] - gap - height;
    if (i === 0 || ends[i - 1] + gap <= top) {
      offer(top);
      break;
    }
  }
  return best;
}

function placeNew(input: LayoutInput, x: Float64Array, y: Float64Array, columns: Column[]) {
  const n = input.ids.length;
  const into: number[][] = Array.from({ length: n }, () => []);
  const outOf: number[][] = Array.from({ length: n }, () => []);
  for (let e = 0; e < input.source.length; e++) {
    if (input.source[e] === input.target[e]) continue;
    into[input.target[e]].push(input.source[e]);
    outOf[input.source[e]].push(input.target[e]);
  }
  // From what is placed outwards: each new node has a placed neighbour by then, but for parts joined to nothing.
  const names = byName(input);
  const seen = new Uint8Array(n);
  let border = [...names].filter((v) => !Number.isNaN(x[v]));
  for (const v of border) seen[v] = 1;
  for (let next = 0; ;) {
    const wave: number[] = [];
    for (const v of border)
      for (const w of [...outOf[v], ...into[v]])
        if (!seen[w]) {
          seen[w] = 1;
          wave.push(w);
        }
    if (wave.length === 0) {
      while (next < n && seen[names[next]]) next++;
      if (next === n) return;
      seen[names[next]] = 1;
      wave.push(names[next]);
    }
    const wanted = new Map(wave.map((v) => [v, wantedTop(v, input, y, into, outOf)]));
    wave.sort((a, b) => wanted.get(a)! - wanted.get(b)! || (input.ids[a] < input.ids[b] ? -1 : 1));
    for (const v of wave) {
      const column = columnFor(v, input, x, columns, into, outOf);
      const top = nearestTop(column, wanted.get(v)!, input.height[v], input.nodeGap);
      const left = Math.max(column.left, Math.min((column.left + column.right - input.width[v]) / 2, column.right));
      x[v] = left;
      y[v] = top;
      take(column, left, top, input.width[v], input.height[v]);
    }
    border = wave;
  }
}

function wantedTop(v: number, input: LayoutInput, y: Float64Array, into: number[][], outOf: number[][]): number {
  let sum = 0;
  let count = 0;
  for (const w of [...into[v], ...outOf[v]])
    if (!Number.isNaN(y[w])) {
      sum += y[w] + input.anchor[w];
      count++;
    }
  return (count ? sum / count : 0) - input.anchor[v];
}

/**
 * Right of everything placed that feeds it and left of all that it feeds, next to the nearer of the two; a new column at
 * either end if none fits. Where there is no room between the two, right of what feeds it counts: the rest runs back.
 */
function columnFor(
  v: number,
  input: LayoutInput,
  x: Float64Array,
  columns: Column[],
  into: number[][],
  outOf: number[][],
): Column {
  const gap = input.layerGap - 1e-6;
  const width = input.width[v];
  let from = Number.NEGATIVE_INFINITY;
  let to = Number.POSITIVE_INFINITY;
  for (const w of into[v]) if (!Number.isNaN(x[w])) from = Math.max(from, x[w] + input.width[w]);
  for (const w of outOf[v]) if (!Number.isNaN(x[w])) to = Math.min(to, x[w]);
  // A column may be as wide as the room before its neighbours; a card wider than the column makes it wider.
  const room = (i: number) => {
    const left = columns[i].left;
    const end = i + 1 < columns.length ? columns[i + 1].left - input.nodeGap : Number.POSITIVE_INFINITY;
    return Math.max(columns[i].right, Math.min(left + width, end)) - left >= width - 1e-6;
  };
  if (from === Number.NEGATIVE_INFINITY && to === Number.POSITIVE_INFINITY)
    return columns.find((_, i) => room(i)) ?? add(columns, columns.length, width, input.layerGap);
  if (from > Number.NEGATIVE_INFINITY) {
    const fits = (i: number) => columns[i].left >= from + gap && room(i);
    for (let i = 0; i < columns.length; i++)
      if (fits(i) && columns[i].left + Math.max(width, columns[i].right - columns[i].left) <= to - gap)
        return columns[i];
    for (let i = 0; i < columns.length; i++) if (fits(i)) return columns[i];
    return add(columns, columns.length, width, input.layerGap);
  }
  for (let i = columns.length - 1; i >= 0; i--)
    if (room(i) && Math.max(columns[i].right, columns[i].left + width) <= to - gap) return columns[i];
  return add(columns, 0, width, input.layerGap);
}

function add(columns: Column[], at: number, width: number, gap: number): Column {
  const left =
    columns.length === 0 ? 0 : at === 0 ? columns[0].left - gap - width : columns[columns.length - 1].right + gap;
  const column = { left, right: left + width, tops: [], ends: [] };
  columns.splice(at, 0, column);
  return column;
}

/** Edges around the cards between their ends, and everything moved so that the drawing begins at 0, 0. */
function drawn(input: LayoutInput, x: Float64Array, y: Float64Array, columns: readonly Column[], rows: number): Layout {
  const n = input.ids.length;
  const edges = input.source.length;
  const layer = new Int32Array(n);
  for (let v = 0; v < n; v++) layer[v] = columns.findIndex((column) => x[v] < column.right);
  const reversed = new Uint8Array(edges);
  const bendStart = new Int32Array(edges + 1);
  const bends: number[] = [];
  const gaps = rows > 1 ? gapsBetween(y, input.height) : [];
  for (let e = 0; e < edges; e++) {
    const s = input.source[e];
    const t = input.target[e];
    const isBack = s === t || x[t] < x[s] + input.width[s];
    // From one row down to another it turns in the gap above that; else an edge that runs back closes a cycle.
    const gap = isBack ? gaps.findLast((at) => at > y[s] + input.height[s] && at < y[t]) : undefined;
    reversed[e] = isBack && gap === undefined ? 1 : 0;
    if (gap !== undefined) bends.push(x[s] + input.width[s], x[t], gap);
    else if (!reversed[e])
      for (let l = layer[s] + 1; l < layer[t]; l++) {
        const column = columns[l];
        const from = y[s] + input.anchor[s];
        const share = (column.left - x[s] - input.width[s]) / Math.max(x[t] - x[s] - input.width[s], 1);
        bends.push(column.left, column.right, clear(column, from + (y[t] + input.anchor[t] - from) * share));
      }
    bendStart[e + 1] = bends.length;
  }
  let left = Number.POSITIVE_INFINITY;
  let top = Number.POSITIVE_INFINITY;
  let right = Number.NEGATIVE_INFINITY;
  let bottom = Number.NEGATIVE_INFINITY;
  for (let v = 0; v < n; v++) {
    left = Math.min(left, x[v]);
    top = Math.min(top, y[v]);
    right = Math.max(right, x[v] + input.width[v]);
    bottom = Math.max(bottom, y[v] + input.height[v]);
  }
  for (let o = 0; o < bends.length; o += 3) {
    top = Math.min(top, bends[o + 2]);
    bottom = Math.max(bottom, bends[o + 2]);
  }
  const moved = Float64Array.from(bends, (value, i) => value - (i % 3 === 2 ? top : left));
  return {
    x: x.map((value) => value - left),
    y: y.map((value) => value - top),
    layer,
    reversed,
    bendStart,
    bends: moved,
    width: n ? right - left : 0,
    height: n ? bottom - top : 0,
    rows,
    crossings: 0,
  };
}

/** The middles of the heights at which no card stands at all. */
function gapsBetween(y: Float64Array, height: Float64Array): number[] {
  const order = [...y.keys()].sort((a, b) => y[a] - y[b]);
  const gaps: number[] = [];
  let end = Number.POSITIVE_INFINITY;
  for (const v of order) {
    if (y[v] > end) gaps.push((end + y[v]) / 2);
    end = end === Number.POSITIVE_INFINITY ? y[v] + height[v] : Math.max(end, y[v] + height[v]);
  }
  return gaps;
}

/** The height nearest to the one wanted at which no card of the column stands. */
function clear(column: Column, wanted: number): number {
  const next = above(column, wanted);
  if (next === column.tops.length || column.tops[next] >= wanted) return wanted;
  // Cards keep a gap between them: its middle is clear on both sides.
  const up = next === 0 ? column.tops[0] - 8 : (column.ends[next - 1] + column.tops[next]) / 2;
  const down =
    next + 1 === column.tops.length ? column.ends[next] + 8 : (column.ends[next] + column.tops[next + 1]) / 2;
  return wanted - up < down - wanted ? up : down;
}
