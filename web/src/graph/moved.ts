// What a canvas keeps when the drawing moves under it: all but strips at two of its edges.

/** A part of a canvas, in its pixels. */
export interface Strip {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Placed {
  view: { x: number; y: number; k: number };
  size: { ratio: number };
}

/** By how many pixels of the canvas the drawing has moved. Null: by parts of one, or it was zoomed too; nothing painted can be kept. */
export function shiftOf(now: Placed, before: Placed): { x: number; y: number } | null {
  if (now.view.k !== before.view.k || now.size.ratio !== before.size.ratio) return null;
  const { ratio } = now.size;
  const x = (now.view.x - before.view.x) * ratio;
  const y = (now.view.y - before.view.y) * ratio;
  const whole = { x: Math.round(x), y: Math.round(y) };
  // Sums of floats: a millionth of a pixel is none.
  return Math.abs(x - whole.x) < 1e-6 && Math.abs(y - whole.y) < 1e-6 ? whole : null;
}

/** What is bare after a move: at most two strips that do not overlap. */
export function bareAfter(shift: { x: number; y: number }, width: number, height: number): Strip[] {
  const across = Math.min(Math.abs(shift.x), width);
  const down = Math.min(Math.abs(shift.y), height);
  const top = shift.y > 0 ? down : 0;
  return [
    { x: 0, y: shift.y > 0 ? 0 : height - down, width, height: down },
    { x: shift.x > 0 ? 0 : width - across, y: top, width: across, height: height - down },
  ].filter((strip) => strip.width > 0 && strip.height > 0);
}
