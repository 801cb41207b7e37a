// Pan and zoom as one transform: screen = world × k + (x, y).
import type { Box } from "./scene.ts";

export interface View {
  x: number;
  y: number;
  k: number;
}

export const MIN_ZOOM = 0.04;
export const MAX_ZOOM = 2;
/** Under this a card is drawn on the canvas: its text could not be read anyway. */
export const CARD_ZOOM = 0.45;

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
