// Which wire is under the pointer: the nearest within reach, by its curve cut into chords. Pure.
import type { Wire, WireSet } from "./wires.ts";

const CHORDS = 12;

export function wireAt(wires: WireSet, x: number, y: number, reach: number): Wire | null {
  let best: Wire | null = null;
  let least = reach;
  for (const all of Object.values(wires.kinds))
    for (const wire of all) {
      if (x < wire.left - reach || x > wire.right + reach || y < wire.top - reach || y > wire.bottom + reach) continue;
      const distance = distanceTo(wire.curve, x, y);
      if (distance < least) {
        least = distance;
        best = wire;
      }
    }
  return best;
}

function distanceTo(curve: Float64Array, x: number, y: number): number {
  let least = Number.POSITIVE_INFINITY;
  let [px, py] = [curve[0], curve[1]];
  for (let i = 2; i < curve.length; i += 6) {
    const [x0, y0] = [curve[i - 2], curve[i - 1]];
    for (let step = 1; step <= CHORDS; step++) {
      const t = step / CHORDS;
      const u = 1 - t;
      const [a, b, c, d] = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
      const qx = a * x0 + b * curve[i] + c * curve[i + 2] + d * curve[i + 4];
      const qy = a * y0 + b * curve[i + 1] + c * curve[i + 3] + d * curve[i + 5];
      least = Math.min(least, toSegment(x, y, px, py, qx, qy));
      [px, py] = [qx, qy];
    }
  }
  return least;
}

function toSegment(x: number, y: number, ax: number, ay: number, bx: number, by: number): number {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const t = length === 0 ? 0 : Math.min(Math.max(((x - ax) * dx + (y - ay) * dy) / length, 0), 1);
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}
