// A graph with its cards measured and placed: the one value the drawing works from.
import { type Card, cardOf, HEAD_HEIGHT, linkedFields } from "./card-size.ts";
import type { Layout, LayoutInput } from "./layout.ts";
import type { ColumnLink, Graph, GraphNode } from "./model.ts";
import type { WireSet } from "./wires.ts";

export interface Plan {
  graph: Graph;
  links: readonly ColumnLink[];
  cards: readonly Card[];
  index: ReadonlyMap<string, number>;
  input: LayoutInput;
  /** How often the reader asked for the drawing to be arranged anew. */
  arranged: number;
}

export interface Arranged extends Plan {
  layout: Layout;
}

export interface Scene extends Arranged {
  wires: WireSet;
  /** Where nodes stood that are not shown any more: they go back there. */
  gone: ReadonlyMap<string, readonly [x: number, y: number]>;
  /** How long the layout took, in ms, where it ran. */
  took: number;
}

export interface PlanOptions {
  columns: boolean;
  indirect: boolean;
  expanded: ReadonlySet<string>;
  /** Width over height of the canvas. */
  aspect: number;
  arranged: number;
}

const NO_LINKS: readonly ColumnLink[] = [];

export function planOf(graph: Graph, options: PlanOptions): Plan {
  const links = options.columns ? graph.links.filter((link) => options.indirect || !link.indirect) : NO_LINKS;
  const linked = linkedFields(links);
  const cards = graph.nodes.map((node) =>
    cardOf(node, options.columns, options.expanded.has(node.id), linked.get(node.id)),
  );
  const index = new Map(graph.nodes.map((node, i) => [node.id, i]));
  const edges = graph.edges.filter((edge) => index.has(edge.source) && index.has(edge.target));
  const kept = edges.length === graph.edges.length ? graph : { ...graph, edges };
  return {
    graph: kept,
    links: links.length ? links.filter((link) => index.has(link.source) && index.has(link.target)) : NO_LINKS,
    cards,
    index,
    arranged: options.arranged,
    input: {
      ids: graph.nodes.map((node) => node.id),
      width: Float64Array.from(cards, (card) => card.width),
      height: Float64Array.from(cards, (card) => card.height),
      anchor: new Float64Array(cards.length).fill(HEAD_HEIGHT / 2),
      lowest: Int32Array.from(graph.nodes, (node) => (node.kind === "job" ? 1 : 0)),
      source: Int32Array.from(edges, (edge) => index.get(edge.source)!),
      target: Int32Array.from(edges, (edge) => index.get(edge.target)!),
      layerGap: options.columns ? 84 : 60,
      nodeGap: 22,
      aspect: options.aspect,
    },
  };
}

/** Whether each edge and column link runs and looks as it did. */
export const hasSameLines = (before: Arranged, now: Arranged): boolean =>
  before.layout === now.layout &&
  areAlike(before.graph.edges, now.graph.edges, ["source", "target", "declared", "intermittent", "change"]) &&
  areAlike(before.links, now.links, ["source", "sourceField", "target", "targetField", "job", "indirect"]);

const areAlike = <T>(before: readonly T[], now: readonly T[], keys: readonly (keyof T)[]) =>
  before.length === now.length && before.every((was, i) => keys.every((key) => was[key] === now[i][key]));

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function boxOf(scene: Scene, i: number): Box {
  return { x: scene.layout.x[i], y: scene.layout.y[i], width: scene.cards[i].width, height: scene.cards[i].height };
}

export function nodeAt(scene: Scene, x: number, y: number): GraphNode | null {
  for (let i = 0; i < scene.cards.length; i++) {
    const box = boxOf(scene, i);
    if (x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height) return scene.graph.nodes[i];
  }
  return null;
}
