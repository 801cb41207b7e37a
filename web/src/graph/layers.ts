// The canvases of a drawing, each painted anew only when what it shows has changed: selecting a node among thousands paints a few lines.
import { frameMinimap, paintMinimap } from "./minimap.ts";
import { shiftOf } from "./moved.ts";
import { type Painting, paint, paintMoved, paintOver, standsOut } from "./paint.ts";

export interface LayersPainting extends Painting {
  /** What is seen of the drawing: the frame in its map. */
  room: { width: number; height: number };
}

export interface Layers {
  ground: HTMLCanvasElement | null;
  over: HTMLCanvasElement | null;
  map: HTMLCanvasElement | null;
  /** Over the map: what is in view. */
  frame: HTMLElement | null;
}

const isSameButPlaced = (a: Painting, b: Painting) =>
  a.scene === b.scene && a.size === b.size && a.ink === b.ink && a.emphasis.nodes === b.emphasis.nodes;

/** `before`: what the layers show. A canvas whose size was set is empty: its painting has another `size`. */
export function paintLayers({ ground, over, map, frame }: Layers, now: LayersPainting, before: LayersPainting | null) {
  const isPlacedOnly = before !== null && isSameButPlaced(now, before);
  const isSame = isPlacedOnly && now.view === before.view;
  if (!isSame) {
    const context = ground?.getContext("2d");
    const shift = isPlacedOnly ? shiftOf(now, before) : null;
    if (context && shift) paintMoved(context, now, shift);
    else if (context) paint(context, now);
  }
  if (!isPlacedOnly) {
    const small = map?.getContext("2d");
    if (small) paintMinimap(small, now.scene, now.ink, now.emphasis.nodes);
  }
  if (frame && (!isSame || before.room !== now.room)) frameMinimap(frame, now.scene, now.view, now.room);
  if (isSame && now.emphasis === before.emphasis) return;
  if (!standsOut(now) && (before === null || !standsOut(before))) return;
  const context = over?.getContext("2d");
  if (context) paintOver(context, now);
}
