// Heights: each vertex as near as possible to the mean of its neighbours, in order and without overlap.
import type { Layered } from "./order.ts";

const PASSES = 12;
/** Above so many vertices the last passes move little that can be seen, and cost most. */
const LARGE = 150_000;
const PASSES_OF_LARGE = 8;

/**
 * Returns the y of each vertex's anchor (where its edges attach). `above[v]`/`below[v]` are the extents over and under
 * the anchor, the room between neighbours included; `weight[v]` says how much v insists (bends of long edges insist, so that those run straight).
 * Per layer this is least squares under "stay in order, keep clear of each other", which pool-adjacent-violators solves exactly.
 */
export function place(
  graph: Layered,
  rows: readonly Int32Array[],
  above: Float64Array,
  below: Float64Array,
  weight: Float64Array,
): Float64Array {
  const y = new Float64Array(graph.layer.length);
  for (const row of rows) {
    let cursor = 0;
    for (const v of row) {
      y[v] = cursor + above[v];
      cursor += above[v] + below[v];
    }
    for (const v of row) y[v] -= cursor / 2;
  }
  const mean = (v: number, useUp: boolean, useDown: boolean) => {
    let sum = 0;
    let total = 0;
    if (useUp)
      for (let i = graph.upStart[v]; i < graph.upStart[v + 1]; i++) {
        const w = graph.up[i];
        sum += y[w] * weight[w];
        total += weight[w];
      }
    if (useDown)
      for (let i = graph.downStart[v]; i < graph.downStart[v + 1]; i++) {
        const w = graph.down[i];
        sum += y[w] * weight[w];
        total += weight[w];
      }
    return total ? sum / total : y[v];
  };
  const passes = graph.layer.length > LARGE ? PASSES_OF_LARGE : PASSES;
  for (let pass = 0; pass < passes; pass++) {
    const both = pass >= passes - 4;
    const rightwards = pass % 2 === 0;
    for (let k = 0; k < rows.length; k++) {
      const row = rows[rightwards ? k : rows.length - 1 - k];
      const wanted = new Float64Array(row.length);
      for (let i = 0; i < row.length; i++) wanted[i] = mean(row[i], both || rightwards, both || !rightwards);
      settle(row, wanted, y, above, below, weight);
    }
  }
  return y;
}

/** Least squares within one row: as near to `wanted` as order and room allow. */
export function settle(
  row: Int32Array,
  wanted: Float64Array,
  y: Float64Array,
  above: Float64Array,
  below: Float64Array,
  weight: Float64Array,
) {
  const n = row.length;
  const offset = new Float64Array(n);
  for (let i = 1; i < n; i++) offset[i] = offset[i - 1] + below[row[i - 1]] + above[row[i]];
  const value = new Float64Array(n);
  const mass = new Float64Array(n);
  const last = new Int32Array(n);
  let blocks = 0;
  for (let i = 0; i < n; i++) {
    let v = wanted[i] - offset[i];
    let m = weight[row[i]];
    while (blocks > 0 && value[blocks - 1] > v) {
      blocks--;
      v = (v * m + value[blocks] * mass[blocks]) / (m + mass[blocks]);
      m += mass[blocks];
    }
    value[blocks] = v;
    mass[blocks] = m;
    last[blocks] = i;
    blocks++;
  }
  let i = 0;
  for (let b = 0; b < blocks; b++) for (; i <= last[b]; i++) y[row[i]] = value[b] + offset[i];
}
