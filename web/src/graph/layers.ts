// The canvases of a drawing, each painted anew only when what it shows has changed: selecting a node among thousands paints a few lines.
import { paintMinimap } from "./minimap.ts";
import { type Painting, paint, paintOver, standsOut } from "./paint.ts";

export interface LayersPainting extends Painting {
  /** What is seen of the drawing: the frame in its map. */
  room: { width: number; height: number };
}

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
export function paintLayers({ ground, over, map }: Layers, now: LayersPainting, before: LayersPainting | null) {
  const isSame = before !== null && isSameGround(now, before);
  const isSameRoom = before?.room === now.room;
  if (isSame && isSameRoom && now.emphasis === before.emphasis) return;
  if (!isSame) {
    const context = ground?.getContext("2d");
    if (context) paint(context, now);
  }
  if (!isSame || !isSameRoom) {
    const small = map?.getContext("2d");
    if (small) paintMinimap(small, now.scene, now.view, now.room, now.ink, now.emphasis.nodes);
  }
  if (isSame && now.emphasis === before.emphasis) return;
  if (!standsOut(now) && (before === null || !standsOut(before))) return;
  const context = over?.getContext("2d");
  if (context) paintOver(context, now);
}
