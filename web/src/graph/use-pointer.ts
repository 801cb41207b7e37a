// What the pointer is over: a card, from far a node of the canvas, or an edge; and what a click there means.
import { type MouseEvent, type PointerEvent, type RefObject, useState } from "react";
import { pointOn } from "./in-view.ts";
import type { ColumnLink } from "./model.ts";
import { nodeAt, type Scene } from "./scene.ts";
import type { View } from "./viewport.ts";
import { CARD_ZOOM } from "./viewport.ts";
import { wireAt } from "./wire-at.ts";

/** Under this zoom edges cannot be told apart by the pointer. */
const WIRES_FROM = 0.2;
const TOOLS = ".card, .graph-tools, .legend, .minimap";

interface Point {
  x: number;
  y: number;
}

export interface PointedAt {
  onSelect(id: string): void;
  onEdge(source: string, target: string): void;
  /** Neither a node nor an edge was clicked. */
  onNothing(): void;
  explain(source: string, target: string, link: ColumnLink | null): readonly string[];
}

export function usePointer(
  host: RefObject<HTMLDivElement | null>,
  view: RefObject<View>,
  scene: Scene | null,
  to: PointedAt,
) {
  const [node, setNode] = useState<string | null>(null);
  const [wire, setWire] = useState<string | null>(null);
  const [label, setLabel] = useState<({ lines: readonly string[] } & Point) | null>(null);

  const nodeUnder = (at: Point) => {
    const { x, y, k } = view.current;
    return scene ? nodeAt(scene, (at.x - x) / k, (at.y - y) / k) : null;
  };
  const wireUnder = (at: Point) => {
    const { x, y, k } = view.current;
    // Far out lines run together: there is no one edge to point at.
    if (!scene || k < WIRES_FROM) return null;
    const hit = wireAt(scene.wires, (at.x - x) / k, (at.y - y) / k, 6 / k);
    if (!hit) return null;
    const link = hit.kind === "link" || hit.kind === "indirect" ? scene.links[hit.index] : null;
    const edge = link ?? scene.graph.edges[hit.index];
    return edge ? { key: (link ? "l" : "e") + hit.index, source: edge.source, target: edge.target, link } : null;
  };
  const leave = () => {
    if (label) setLabel(null);
    if (wire) setWire(null);
  };
  const onPointerMove = (event: PointerEvent) => {
    if (!scene || event.buttons !== 0) return;
    if ((event.target as HTMLElement).closest(TOOLS)) return leave();
    const at = pointOn(host.current!, event);
    if (view.current.k < CARD_ZOOM) {
      // Far out there are no cards to hover: the canvas is asked what is there, and its name is shown.
      const hit = nodeUnder(at);
      setNode(hit?.id ?? null);
      if (hit) {
        setWire(null);
        return setLabel({ lines: [hit.label], ...at });
      }
    }
    const hit = wireUnder(at);
    if (!hit) return leave();
    setWire(hit.key);
    setLabel({ lines: to.explain(hit.source, hit.target, hit.link), ...at });
  };
  const onClick = (event: MouseEvent) => {
    if (!scene || (event.target as HTMLElement).closest(TOOLS)) return;
    const at = pointOn(host.current!, event);
    const hit = nodeUnder(at);
    const edge = hit ? null : wireUnder(at);
    if (hit) to.onSelect(hit.id);
    else if (edge) to.onEdge(edge.source, edge.target);
    else to.onNothing();
  };
  return { node, setNode, wire, label, handlers: { onPointerMove, onPointerLeave: leave, onClick } };
}
