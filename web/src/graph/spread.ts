// A graph of few, long layers would be a thin strip on a wide canvas: its layers become several columns wide, until the
// whole has the shape of what it is drawn on. Order and neighbourhood stay; only heights are drawn together.
import { settle } from "./place.ts";

export interface Spread {
  /** Columns of each layer. */
  columns: Int32Array;
  /** Which of them each real node stands in. */
  column: Int32Array;
}

/** Under this many nodes a strip can be read as it is. */
const SPREAD_ABOVE = 40;
/** A strip this much too tall is left alone. */
const TOLERANCE = 0.8;

/** Writes the new heights into `y`; the first `real` vertices are nodes, the others bends. Returns the columns. */
export function spread(
  rows: readonly Int32Array[],
  real: number,
  y: Float64Array,
  above: Float64Array,
  below: Float64Array,
  span: Float64Array,
  layerGap: number,
  columnGap: number,
  aspect: number,
): Spread {
  const columns = new Int32Array(rows.length).fill(1);
  const column = new Int32Array(real);
  if (real <= SPREAD_ABOVE || !(aspect > 0)) return { columns, column };
  const tall = new Float64Array(rows.length);
  let tallest = 0;
  for (let l = 0; l < rows.length; l++)
    for (const v of rows[l])
      if (v < real) {
        tall[l] += above[v] + below[v];
        tallest = Math.max(tallest, above[v] + below[v]);
      }
  const height = tall.reduce((most, h) => Math.max(most, h), 0);
  const wide = (limit: number) => {
    let sum = layerGap * (rows.length - 1);
    for (let l = 0; l < rows.length; l++) {
      const n = Math.max(Math.ceil(tall[l] / limit), 1);
      sum += n * span[l] + (n - 1) * columnGap;
    }
    return sum;
  };
  if (wide(height) / height >= aspect * TOLERANCE) return { columns, column };
  let low = tallest;
  let high = height;
  for (let step = 0; step < 24; step++) {
    const middle = (low + high) / 2;
    if (wide(middle) / middle >= aspect) low = middle;
    else high = middle;
  }
  const limit = high;
  const squeeze = limit / height;
  const equal = new Float64Array(y.length).fill(1);
  for (let v = 0; v < y.length; v++) y[v] *= squeeze;
  for (let l = 0; l < rows.length; l++) {
    const n = Math.max(Math.ceil(tall[l] / limit), 1);
    columns[l] = n;
    // One column has room for its bends between its nodes; several share no gap, so bends look for one afterwards.
    const nodes = n === 1 ? rows[l] : rows[l].filter((v) => v < real);
    for (let c = 0; c < n; c++) {
      const own = nodes.filter((_, i) => i % n === c);
      for (const v of own) if (v < real) column[v] = c;
      const wanted = Float64Array.from(own, (v) => y[v]);
      settle(own, wanted, y, above, below, equal);
    }
    if (n > 1) clearBends(rows[l], real, y, above, below);
  }
  return { columns, column };
}

/** Moves each bend of a layer to the nearest height at which no node of the layer stands, in whichever column. */
function clearBends(row: Int32Array, real: number, y: Float64Array, above: Float64Array, below: Float64Array) {
  const nodes = row.filter((v) => v < real).sort((a, b) => y[a] - above[a] - (y[b] - above[b]));
  const from: number[] = [];
  const to: number[] = [];
  for (const v of nodes) {
    const end = y[v] + below[v];
    // Nodes that only touch leave a gap: their heights hold the space between cards.
    if (to.length > 0 && y[v] - above[v] < to[to.length - 1] - 1e-6)
      to[to.length - 1] = Math.max(to[to.length - 1], end);
    else {
      from.push(y[v] - above[v]);
      to.push(end);
    }
  }
  for (const bend of row) {
    if (bend < real) continue;
    let low = 0;
    for (let high = to.length; low < high;) {
      const middle = (low + high) >> 1;
      if (to[middle] <= y[bend]) low = middle + 1;
      else high = middle;
    }
    if (low < to.length && y[bend] > from[low]) y[bend] = y[bend] - from[low] < to[low] - y[bend] ? from[low] : to[low];
  }
}
