// The canvases of a drawing, each painted anew only when what it shows has changed: selecting a node among thousands paints a few lines.
import { paintMinimap } from "./minimap.ts";
import { type Painting, paint, paintOver, standsOut } from "./paint.ts";

export interface Layers {
  ground: HTMLCanvasElement | null;
  over: HTMLCanvasElement | null;
  map: HTMLCanvasElement | null;
}

const isSameGround = (a: Painting, b: Painting) =>
  a.scene === b.scene &&
  a.view === b.view &&
  a.size === b.size &&
  a.ink === b.ink &&
  a.emphasis.nodes === b.emphasis.nodes;

/** `before`: what the layers show. A canvas whose size was set is empty: its painting has another `size`. */
export function paintLayers({ ground, over, map }: Layers, now: Painting, before: Painting | null) {
  const isSame = before !== null && isSameGround(now, before);
  if (isSame && now.emphasis === before.emphasis) return;
  if (!isSame) {
    const context = ground?.getContext("2d");
    if (context) paint(context, now);
    const small = map?.getContext("2d");
    if (small) paintMinimap(small, now.scene, now.view, now.size, now.ink, now.emphasis.nodes);
  }
  if (!standsOut(now) && (before === null || !standsOut(before))) return;
  const context = over?.getContext("2d");
  if (context) paintOver(context, now);
}
