// The whole graph in a corner, with the part in view framed.
import type { Ink } from "./paint.ts";
import type { Scene } from "./scene.ts";
import type { View } from "./viewport.ts";

export const MINIMAP = { width: 184, height: 116 };
export const MINIMAP_ABOVE = 8;

export function minimapScale(scene: Scene): { k: number; x: number; y: number } {
  const margin = 6;
  const k = Math.min(
    (MINIMAP.width - 2 * margin) / Math.max(scene.layout.width, 1),
    (MINIMAP.height - 2 * margin) / Math.max(scene.layout.height, 1),
  );
  return { k, x: (MINIMAP.width - scene.layout.width * k) / 2, y: (MINIMAP.height - scene.layout.height * k) / 2 };
}

export function paintMinimap(
  context: CanvasRenderingContext2D,
  scene: Scene,
  ink: Ink,
  nodes: { has(id: string): boolean } | null,
) {
  const { k, x, y } = minimapScale(scene);
  const ratio = context.canvas.width / MINIMAP.width;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, MINIMAP.width, MINIMAP.height);
  for (let i = 0; i < scene.cards.length; i++) {
    const node = scene.graph.nodes[i];
    context.globalAlpha = nodes && !nodes.has(node.id) ? 0.25 : 0.9;
    context.fillStyle =
      node.tint ??
      (node.state === "FAILED"
        ? ink.failed
        : node.id === scene.graph.root
          ? ink.strong
          : node.kind === "job"
            ? ink.job
            : ink.dataset);
    context.fillRect(
      x + scene.layout.x[i] * k,
      y + scene.layout.y[i] * k,
      Math.max(scene.cards[i].width * k, 1.5),
      Math.max(scene.cards[i].height * k, 1.5),
    );
  }
  context.globalAlpha = 1;
}

/** Sets the frame of what is in view over the map. */
export function frameMinimap(frame: HTMLElement, scene: Scene, view: View, room: { width: number; height: number }) {
  const { k, x, y } = minimapScale(scene);
  const of = k / view.k;
  frame.style.transform = `translate(${x - view.x * of}px, ${y - view.y * of}px)`;
  frame.style.width = `${room.width * of}px`;
  frame.style.height = `${room.height * of}px`;
}
