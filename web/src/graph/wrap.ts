// A long chain would be a thread across the canvas: its layers are set in rows under one another, as words are in lines, so
// that the whole can be seen and read. The edges from one row to the next turn back through the gap between the two
// (Rüegg and von Hanxleden, "Wrapping layered graphs", 2018, cut at one edge where they can). Pure.

/** The gap between two rows: edges turn back in it. */
export const ROW_GAP = 64;
/** A drawing that is narrower can be read in one row: four datasets with the jobs between them, on a canvas of 1,240 px. */
const WRAP_ABOVE = 2200;
/** So much larger must it be drawn than in one row. */
const GAIN = 1.4;
/** A row may be so much shorter than the widest, if fewer edges turn back there. */
const SLACK = 0.25;

export interface Layers {
  /** Left end and width of each layer, and how far its cards and bends reach. */
  left: Float64Array;
  width: Float64Array;
  top: Float64Array;
  bottom: Float64Array;
  /** How many edges pass from each layer to the next. */
  passing: Int32Array;
}

export interface Wrapped {
  /** The row of each layer. */
  row: Int32Array;
  /** How far each row moves. */
  dx: Float64Array;
  dy: Float64Array;
  /** Right end and bottom of each row, where it stands then. */
  right: Float64Array;
  bottom: Float64Array;
  width: number;
  height: number;
}

/** Null: it is drawn in one row. `aspect`: width over height of the canvas. */
export function wrap(layers: Layers, aspect: number): Wrapped | null {
  const n = layers.left.length;
  if (n < 2 || !(aspect > 0)) return null;
  const whole = placed(layers, new Int32Array(n));
  if (whole.width < WRAP_ABOVE) return null;
  const scale = ({ width, height }: Wrapped) => Math.min(aspect / width, 1 / height);
  let best: Wrapped | null = null;
  for (let rows = 2; rows <= n; rows++) {
    const next = placed(layers, rowsOf(layers, whole.width / rows));
    if (best && scale(next) < scale(best) * 0.7) break;
    if (!best || scale(next) > scale(best)) best = next;
  }
  return best && scale(best) >= GAIN * scale(whole) ? best : null;
}

/** Fills row after row up to a width, and ends each where the fewest edges pass. */
function rowsOf({ left, width, passing }: Layers, most: number): Int32Array {
  const n = left.length;
  const row = new Int32Array(n);
  const end = (l: number) => left[l] + width[l];
  let first = 0;
  for (let r = 0; first < n; r++) {
    let last = first;
    while (last + 1 < n && end(last + 1) - left[first] <= most) last++;
    if (last + 1 < n)
      for (let l = last; l > first && end(l) - left[first] >= most * (1 - SLACK); l--)
        if (passing[l] < passing[last]) last = l;
    row.fill(r, first, last + 1);
    first = last + 1;
  }
  return row;
}

function placed({ left, width, top, bottom }: Layers, row: Int32Array): Wrapped {
  const n = left.length;
  const rows = row[n - 1] + 1;
  const from = new Float64Array(rows).fill(Number.POSITIVE_INFINITY);
  const to = new Float64Array(rows).fill(Number.NEGATIVE_INFINITY);
  const made: Wrapped = {
    row,
    dx: new Float64Array(rows),
    dy: new Float64Array(rows),
    right: new Float64Array(rows),
    bottom: new Float64Array(rows),
    width: 0,
    height: 0,
  };
  for (let l = n - 1; l >= 0; l--) {
    const r = row[l];
    from[r] = Math.min(from[r], top[l]);
    to[r] = Math.max(to[r], bottom[l]);
    made.dx[r] = -left[l];
  }
  for (let l = 0; l < n; l++) {
    made.right[row[l]] = left[l] + width[l] + made.dx[row[l]];
    made.width = Math.max(made.width, made.right[row[l]]);
  }
  let y = 0;
  for (let r = 0; r < rows; r++) {
    made.dy[r] = y - from[r];
    made.bottom[r] = y + to[r] - from[r];
    y = made.bottom[r] + ROW_GAP;
  }
  made.height = y - ROW_GAP;
  return made;
}
