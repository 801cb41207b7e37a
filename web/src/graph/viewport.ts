// Pan and zoom as one transform: screen = world × k + (x, y).
import type { Box } from "./scene.ts";

export interface View {
  x: number;
  y: number;
  k: number;
}

export const MIN_ZOOM = 0.01;
export const MAX_ZOOM = 2;
/** Under this a card is drawn on the canvas: its text could not be read anyway. */
export const CARD_ZOOM = 0.42;

export const clampZoom = (k: number) => Math.min(Math.max(k, MIN_ZOOM), MAX_ZOOM);

export function zoomAt(view: View, factor: number, px: number, py: number): View {
  const k = clampZoom(view.k * factor);
  const ratio = k / view.k;
  return { k, x: px - (px - view.x) * ratio, y: py - (py - view.y) * ratio };
}

export function fit(box: Box, width: number, height: number, most = 1): View {
  const margin = 48;
  const k = clampZoom(
    Math.min((width - 2 * margin) / Math.max(box.width, 1), (height - 2 * margin) / Math.max(box.height, 1), most),
  );
  return { k, x: width / 2 - (box.x + box.width / 2) * k, y: height / 2 - (box.y + box.height / 2) * k };
}

export function centre(box: Box, width: number, height: number, k: number): View {
  return { k, x: width / 2 - (box.x + box.width / 2) * k, y: height / 2 - (box.y + box.height / 2) * k };
}

/** Moves the world so that no more than a margin outside of it shows, where it is larger than the view. */
export function keepWithin(view: View, world: { width: number; height: number }, width: number, height: number): View {
  const margin = 56;
  const axis = (at: number, size: number, room: number) =>
    size * view.k <= room - 2 * margin ? at : Math.max(Math.min(at, margin), room - margin - size * view.k);
  return { k: view.k, x: axis(view.x, world.width, width), y: axis(view.y, world.height, height) };
}

/** The smallest move that brings the box into view. */
export function reveal(view: View, box: Box, width: number, height: number): View {
  const margin = 40;
  const left = box.x * view.k + view.x;
  const top = box.y * view.k + view.y;
  const right = left + box.width * view.k;
  // A tall card need only show its head.
  const bottom = top + Math.min(box.height * view.k, height / 2);
  let { x, y } = view;
  if (right > width - margin) x -= right - (width - margin);
  if (left + x - view.x < margin) x += margin - (left + x - view.x);
  if (bottom > height - margin) y -= bottom - (height - margin);
  if (top + y - view.y < margin) y += margin - (top + y - view.y);
  return { ...view, x, y };
}
