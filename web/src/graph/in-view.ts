// What of the drawing is on the screen.
import type { Scene } from "./scene.ts";
import { CARD_ZOOM, type View } from "./viewport.ts";

export const NONE_IN_VIEW: readonly number[] = [];

/** The nodes whose cards are in or near the view; none when they are too small to read. */
export function inView(scene: Scene, view: View, size: { width: number; height: number }): readonly number[] {
  if (view.k < CARD_ZOOM) return NONE_IN_VIEW;
  const margin = 160;
  const found: number[] = [];
  for (let i = 0; i < scene.cards.length; i++) {
    const left = scene.layout.x[i] * view.k + view.x;
    const top = scene.layout.y[i] * view.k + view.y;
    if (left > size.width + margin || left + scene.cards[i].width * view.k < -margin) continue;
    if (top > size.height + margin || top + scene.cards[i].height * view.k < -margin) continue;
    found.push(i);
  }
  return found;
}

export function areSame(a: readonly number[], b: readonly number[]) {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

/** The shape of the canvas, known before it is there from the window; a later change of it moves nothing. */
export function aspectOf(element: HTMLElement | null): number {
  return element ? element.clientWidth / Math.max(element.clientHeight, 1) : innerWidth / Math.max(innerHeight - 96, 1);
}

export function pointOn(element: Element, event: { clientX: number; clientY: number }) {
  const box = element.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}
