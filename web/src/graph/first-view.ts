// Where a drawing is looked at when it appears: what was in view stays there; else the whole is fitted, or its start is shown.
import { boxOf, type Scene } from "./scene.ts";
import { centre, fit, keepWithin, type View } from "./viewport.ts";

interface Room {
  width: number;
  height: number;
}

/** A graph too large to read as a whole opens at its root; the map in the corner shows the rest. */
export function openingView(scene: Scene, { width, height }: Room, openAbove: number): View {
  const whole = fit({ x: 0, y: 0, width: scene.layout.width, height: scene.layout.height }, width, height);
  const root = scene.index.get(scene.graph.root);
  if (whole.k >= openAbove || root === undefined) return whole;
  return keepWithin(centre(boxOf(scene, root), width, height, 0.8), scene.layout, width, height);
}

/** The view under which a node of the drawing before stands where it stood; null if none of these is in both. */
export function heldView(
  view: View,
  before: Scene | null,
  scene: Scene,
  candidates: readonly (string | null | undefined)[],
): View | null {
  const anchor = candidates.find((id) => id && before?.index.has(id) && scene.index.has(id));
  if (!before || !anchor) return null;
  const was = boxOf(before, before.index.get(anchor)!);
  const is = boxOf(scene, scene.index.get(anchor)!);
  return { k: view.k, x: view.x + (was.x - is.x) * view.k, y: view.y + (was.y - is.y) * view.k };
}

/** A drawing that lost nodes, and of which a part would be out of sight though the whole has room at no smaller a zoom, is fitted. */
export function viewOfFewer(kept: View, before: Scene, scene: Scene, { width, height }: Room): View {
  const { layout } = scene;
  const inSight =
    kept.x >= 0 && kept.y >= 0 && kept.x + layout.width * kept.k <= width && kept.y + layout.height * kept.k <= height;
  if (inSight || scene.cards.length >= before.cards.length) return kept;
  const whole = fit({ x: 0, y: 0, width: layout.width, height: layout.height }, width, height);
  return whole.k >= kept.k ? whole : kept;
}
