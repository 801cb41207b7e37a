// The order of vertices within each layer: barycentre sweeps, keeping the order with the fewest crossings seen.

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

/** Segments up to which swapping neighbours, which is quadratic in degree, is cheap. */
const SMALL = 6000;

export function order(graph: Layered): { rows: Int32Array[]; crossings: number } {
  const start = seed(graph);
  const small = graph.down.length < SMALL;
  let best = swept(graph, start, true, small);
  if (!small || best.crossings === 0) return best;
  // Other ways down the same hill, from other places on it, end elsewhere; where they are cheap, the best of them counts.
  const attempt = (rows: readonly Int32Array[], downwards: boolean) => {
    const other = swept(graph, rows, downwards, true);
    if (other.crossings < best.crossings) best = other;
  };
  attempt(start, false);
  attempt(best.rows, true);
  return sifted(graph, best.rows);
}

function swept(graph: Layered, start: readonly Int32Array[], first: boolean, small: boolean) {
  let rows = start.map((row) => row.slice());
  const position = new Float64Array(graph.layer.length);
  const weight = new Float64Array(graph.layer.length);
  const settle = () => {
    for (const row of rows) for (let i = 0; i < row.length; i++) position[row[i]] = i;
  };
  settle();
  let best = rows.map((row) => row.slice());
  let fewest = crossings(graph, rows, position);
  let since = 0;
  for (let sweep = 0; sweep < SWEEPS && fewest > 0 && since < PATIENCE; sweep++) {
    const downwards = (sweep % 2 === 0) === first;
    // Of equals now the first and now the last goes before, so that a plateau is crossed and not only stood on.
    const tie = sweep % 4 < 2 ? 1 : -1;
    for (let k = 0; k < rows.length; k++) {
      const l = downwards ? k : rows.length - 1 - k;
      sortByNeighbours(
        rows[l],
        position,
        weight,
        small ? tie : 1,
        downwards ? graph.upStart : graph.downStart,
        downwards ? graph.up : graph.down,
      );
    }
    if (small) for (let pass = 0; pass < 1 && transpose(graph, rows, position); pass++);
    const now = crossings(graph, rows, position);
    if (now < fewest) {
      fewest = now;
      best = rows.map((row) => row.slice());
      since = 0;
    } else since++;
  }
  rows = best;
  settle();
  // Swapping neighbours mends what averages cannot see.
  if (fewest > 0 && small) {
    for (let pass = 0; pass < 8 && transpose(graph, rows, position); pass++);
    fewest = crossings(graph, rows, position);
  }
  return { rows, crossings: fewest };
}

/** Moves each vertex to the best place in its row while that helps: what swapping neighbours cannot reach over a ridge. */
function sifted(graph: Layered, start: readonly Int32Array[]) {
  const rows = start.map((row) => row.slice());
  const position = new Float64Array(graph.layer.length);
  for (const row of rows) for (let i = 0; i < row.length; i++) position[row[i]] = i;
  for (let pass = 0, moved = true; pass < SIFTS && moved; pass++) {
    moved = false;
    for (const row of rows) for (const v of row.slice()) if (sift(graph, row, v, position)) moved = true;
  }
  return { rows, crossings: crossings(graph, rows, position) };
}

function sift(graph: Layered, row: Int32Array, v: number, position: Float64Array): boolean {
  const { upStart, up, downStart, down } = graph;
  // How many crossings it costs that a stands before b.
  const cost = (a: number, b: number) =>
    inversions(a, b, position, upStart, up) + inversions(a, b, position, downStart, down);
  const at = position[v];
  let best = at;
  let most = 0;
  for (const step of [-1, 1]) {
    let gain = 0;
    for (let i = at + step; i >= 0 && i < row.length; i += step) {
      const other = row[i];
      gain += step < 0 ? cost(other, v) - cost(v, other) : cost(v, other) - cost(other, v);
      if (gain > most) [most, best] = [gain, i];
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

function sortByNeighbours(
  row: Int32Array,
  position: Float64Array,
  weight: Float64Array,
  tie: 1 | -1,
  start: Int32Array,
  list: Int32Array,
) {
  for (const v of row) {
    const degree = start[v + 1] - start[v];
    let sum = 0;
    for (let i = start[v]; i < start[v + 1]; i++) sum += position[list[i]];
    weight[v] = degree ? sum / degree : position[v];
  }
  row.sort((a, b) => weight[a] - weight[b] || tie * (position[a] - position[b]));
  for (let i = 0; i < row.length; i++) position[row[i]] = i;
}

/** Exact number of pairs of edges that cross, by counting inversions with a Fenwick tree per pair of layers. */
function crossings({ downStart, down }: Layered, rows: readonly Int32Array[], position: Float64Array): number {
  let total = 0;
  const whole = new Int32Array(rows.reduce((most, row) => Math.max(most, row.length), 0) + 1);
  for (let l = 0; l + 1 < rows.length; l++) {
    const row = rows[l];
    const size = rows[l + 1].length;
    const tree = whole.subarray(0, size + 1).fill(0);
    let placed = 0;
    for (let k = 0; k < row.length; k++) {
      const from = downStart[row[k]];
      const to = downStart[row[k] + 1];
      for (let e = from; e < to; e++) {
        let notAfter = 0;
        for (let i = position[down[e]] + 1; i > 0; i -= i & -i) notAfter += tree[i];
        total += placed - notAfter;
      }
      for (let e = from; e < to; e++) for (let i = position[down[e]] + 1; i <= size; i += i & -i) tree[i]++;
      placed += to - from;
    }
  }
  return total;
}

function transpose(graph: Layered, rows: readonly Int32Array[], position: Float64Array): boolean {
  let improved = false;
  for (const row of rows) {
    for (let i = 0; i + 1 < row.length; i++) {
      const a = row[i];
      const b = row[i + 1];
      const gain =
        inversions(a, b, position, graph.upStart, graph.up) +
        inversions(a, b, position, graph.downStart, graph.down) -
        inversions(b, a, position, graph.upStart, graph.up) -
        inversions(b, a, position, graph.downStart, graph.down);
      if (gain <= 0) continue;
      row[i] = b;
      row[i + 1] = a;
      position[b] = i;
      position[a] = i + 1;
      improved = true;
    }
  }
  return improved;
}

/** Crossings between the edges of a and of b when a stands before b. */
function inversions(a: number, b: number, position: Float64Array, start: Int32Array, list: Int32Array): number {
  let sum = 0;
  for (let i = start[a]; i < start[a + 1]; i++)
    for (let j = start[b]; j < start[b + 1]; j++) if (position[list[i]] > position[list[j]]) sum++;
  return sum;
}
