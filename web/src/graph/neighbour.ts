// Where an arrow key leads: along an edge left or right, within the layer up or down.
import type { Scene } from "./scene.ts";

export type Arrow = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";

export function neighbour(scene: Scene, id: string, arrow: Arrow): string | null {
  const here = scene.index.get(id);
  if (here === undefined) return scene.graph.nodes[0]?.id ?? null;
  const { x, y, layer } = scene.layout;
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  const offer = (i: number, distance: number) => {
    if (distance < least) {
      least = distance;
      best = i;
    }
  };
  if (arrow === "ArrowUp" || arrow === "ArrowDown") {
    const sign = arrow === "ArrowDown" ? 1 : -1;
    for (let i = 0; i < y.length; i++) {
      const distance = (y[i] - y[here]) * sign;
      if (layer[i] === layer[here] && distance > 0) offer(i, distance);
    }
  } else {
    const upstream = arrow === "ArrowLeft";
    for (const edge of scene.graph.edges) {
      const s = scene.index.get(edge.source)!;
      const t = scene.index.get(edge.target)!;
      if (upstream ? t !== here : s !== here) continue;
      const other = upstream ? s : t;
      // The nearest in height; a short step before a long one.
      if (other !== here) offer(other, Math.abs(y[other] - y[here]) + Math.abs(x[other] - x[here]) / 4);
    }
  }
  return best < 0 ? null : scene.graph.nodes[best].id;
}
