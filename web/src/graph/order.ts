// The order of vertices within each layer: barycentre sweeps, keeping the order with the fewest crossings seen.
import { type Keyed, keyed, sortKeyed } from "./merge.ts";

/** A graph in which every edge joins neighbouring layers; `up`/`down` are flat adjacency lists by vertex. */
export interface Layered {
  layer: Int32Array;
  upStart: Int32Array;
  up: Int32Array;
  downStart: Int32Array;
  down: Int32Array;
}

const SWEEPS = 24;
const PATIENCE = 4;
const SIFTS = 3;
/** Among tens of thousands of edges, the share of crossings that a sweep must take away to be worth another. */
const WORTH = 0.005;

/** Segments up to which swapping neighbours, which is quadratic in degree, is cheap. */
const SMALL = 6000;

export function order(graph: Layered): { rows: Int32Array[]; crossings: number } {
  const start = seed(graph);
  const ordering = new Ordering(graph);
  const small = graph.down.length < SMALL;
  let best = swept(ordering, start, true, small);
  if (!small || best.crossings === 0) return best;
  // Other ways down the same hill, from other places on it, end elsewhere; where they are cheap, the best of them counts.
  const attempt = (rows: readonly Int32Array[], downwards: boolean) => {
    const other = swept(ordering, rows, downwards, true);
    if (other.crossings < best.crossings) best = other;
  };
  attempt(start, false);
  attempt(best.rows, true);
  return sifted(ordering, best.rows);
}

/** The graph with where each vertex stands in its row, and the room that sorting a row needs. */
class Ordering {
  readonly position: Int32Array;
  readonly sorting: Keyed;
  readonly above: Ends;
  readonly below: Ends;

  constructor(readonly graph: Layered) {
    this.position = new Int32Array(graph.layer.length);
    this.sorting = keyed(Math.max(graph.layer.length, graph.down.length));
    this.above = { start: graph.upStart, at: new Int32Array(graph.up.length) };
    this.below = { start: graph.downStart, at: new Int32Array(graph.down.length) };
  }

  setPositions(rows: readonly Int32Array[]) {
    for (const row of rows) for (let i = 0; i < row.length; i++) this.position[row[i]] = i;
  }

  /** Brings `above` and `below` up to date for this row; they hold as long as the rows beside it stand still. */
  readEnds(row: Int32Array) {
    const { position, above, below, graph } = this;
    for (const v of row) {
      for (let i = above.start[v]; i < above.start[v + 1]; i++) above.at[i] = position[graph.up[i]];
      for (let i = below.start[v]; i < below.start[v + 1]; i++) below.at[i] = position[graph.down[i]];
    }
  }
}

/** Where the edges of each vertex end in the row on one side: those of v at `at[start[v]..start[v+1])`. */
interface Ends {
  start: Int32Array;
  at: Int32Array;
}

/** By how many crossings a before b costs more than b before a. */
function excess(a: number, b: number, { start, at }: Ends): number {
  let sum = 0;
  for (let i = start[a]; i < start[a + 1]; i++)
    for (let j = start[b]; j < start[b + 1]; j++) sum += at[i] > at[j] ? 1 : at[i] < at[j] ? -1 : 0;
  return sum;
}

function swept(ordering: Ordering, start: readonly Int32Array[], first: boolean, small: boolean) {
  let rows = start.map((row) => row.slice());
  ordering.setPositions(rows);
  let best = rows.map((row) => row.slice());
  let fewest = crossings(ordering, rows);
  let since = 0;
  for (let sweep = 0; sweep < SWEEPS && fewest > 0 && since < PATIENCE; sweep++) {
    const downwards = (sweep % 2 === 0) === first;
    // Of equals now the first and now the last goes before, so that a plateau is crossed and not only stood on.
    const tie = small && sweep % 4 >= 2 ? -1 : 1;
    for (let k = 0; k < rows.length; k++)
      sortByNeighbours(ordering, rows[downwards ? k : rows.length - 1 - k], downwards, tie);
    if (small) transpose(ordering, rows);
    const now = crossings(ordering, rows);
    if (now < fewest) {
      since = small || now < fewest * (1 - WORTH) ? 0 : since + 1;
      fewest = now;
      best = rows.map((row) => row.slice());
    } else since++;
  }
  rows = best;
  ordering.setPositions(rows);
  // Swapping neighbours mends what averages cannot see.
  if (fewest > 0 && small) {
    for (let pass = 0; pass < 8 && transpose(ordering, rows); pass++);
    fewest = crossings(ordering, rows);
  }
  return { rows, crossings: fewest };
}

/** Moves each vertex to the best place in its row while that helps: what swapping neighbours cannot reach over a ridge. */
function sifted(ordering: Ordering, start: readonly Int32Array[]) {
  const rows = start.map((row) => row.slice());
  ordering.setPositions(rows);
  let stirred = new Uint8Array(rows.length + 2).fill(1);
  for (let pass = 0; pass < SIFTS; pass++) {
    // A row in which nothing moved, between two in which nothing moved, stays as it is.
    const before = stirred;
    stirred = new Uint8Array(rows.length + 2);
    rows.forEach((row, l) => {
      if (!(before[l] || before[l + 1] || before[l + 2] || stirred[l])) return;
      ordering.readEnds(row);
      for (const v of row.slice()) if (sift(ordering, row, v)) stirred[l + 1] = 1;
    });
  }
  return { rows, crossings: crossings(ordering, rows) };
}

function sift({ position, above, below }: Ordering, row: Int32Array, v: number): boolean {
  const at = position[v];
  let best = at;
  let most = 0;
  for (let step = -1; step <= 1; step += 2) {
    let gain = 0;
    for (let i = at + step; i >= 0 && i < row.length; i += step) {
      gain -= step * (excess(row[i], v, above) + excess(row[i], v, below));
      if (gain > most) {
        most = gain;
        best = i;
      }
    }
  }
  if (best === at) return false;
  if (best < at) row.copyWithin(best + 1, best, at);
  else row.copyWithin(at, at + 1, best + 1);
  row[best] = v;
  for (let i = Math.min(best, at); i <= Math.max(best, at); i++) position[row[i]] = i;
  return true;
}

/** Depth-first over the undirected graph, so that what is connected starts out close together. */
function seed(graph: Layered): Int32Array[] {
  const count = graph.layer.length;
  const lists: number[][] = [];
  for (const l of graph.layer) while (lists.length <= l) lists.push([]);
  const seen = new Uint8Array(count);
  for (let s = 0; s < count; s++) {
    if (seen[s]) continue;
    const stack = [s];
    while (stack.length) {
      const v = stack.pop()!;
      if (seen[v]) continue;
      seen[v] = 1;
      lists[graph.layer[v]].push(v);
      for (let i = graph.upStart[v + 1] - 1; i >= graph.upStart[v]; i--)
        if (!seen[graph.up[i]]) stack.push(graph.up[i]);
      for (let i = graph.downStart[v + 1] - 1; i >= graph.downStart[v]; i--)
        if (!seen[graph.down[i]]) stack.push(graph.down[i]);
    }
  }
  return lists.map((list) => Int32Array.from(list));
}

function sortByNeighbours({ graph, position, sorting }: Ordering, row: Int32Array, downwards: boolean, tie: 1 | -1) {
  const start = downwards ? graph.upStart : graph.downStart;
  const list = downwards ? graph.up : graph.down;
  const { key, vertex } = sorting;
  for (let k = 0; k < row.length; k++) {
    const v = row[tie > 0 ? k : row.length - 1 - k];
    const degree = start[v + 1] - start[v];
    let sum = 0;
    for (let i = start[v]; i < start[v + 1]; i++) sum += position[list[i]];
    key[k] = degree ? sum / degree : position[v];
    vertex[k] = v;
  }
  sortKeyed(sorting, row.length);
  for (let i = 0; i < row.length; i++) {
    row[i] = vertex[i];
    position[row[i]] = i;
  }
}

/** Exact number of pairs of edges that cross: of two edges in the order of their beginnings, ends in the wrong order. */
function crossings({ graph, position, sorting }: Ordering, rows: readonly Int32Array[]): number {
  const { downStart, down } = graph;
  let total = 0;
  const { key } = sorting;
  for (const row of rows) {
    let count = 0;
    for (const v of row) {
      const first = count;
      for (let e = downStart[v]; e < downStart[v + 1]; e++) {
        // Edges that begin together do not cross.
        const end = position[down[e]];
        let i = count++;
        for (; i > first && key[i - 1] > end; i--) key[i] = key[i - 1];
        key[i] = end;
      }
    }
    total += sortKeyed(sorting, count);
  }
  return total;
}

function transpose(ordering: Ordering, rows: readonly Int32Array[]): boolean {
  const { position, above, below } = ordering;
  let improved = false;
  for (const row of rows) {
    ordering.readEnds(row);
    for (let i = 0; i + 1 < row.length; i++) {
      const a = row[i];
      const b = row[i + 1];
      if (excess(a, b, above) + excess(a, b, below) <= 0) continue;
      row[i] = b;
      row[i + 1] = a;
      position[b] = i;
      position[a] = i + 1;
      improved = true;
    }
  }
  return improved;
}
