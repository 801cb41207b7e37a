// The canvases under the cards: all edges, and far out the nodes too; over them what stands out.
import { HEAD_HEIGHT } from "./card-size.ts";
import { bareAfter, type Strip } from "./moved.ts";
import type { Scene } from "./scene.ts";
import { CARD_ZOOM, type View } from "./viewport.ts";
import type { Wire, WireKind } from "./wires.ts";

export interface Ink {
  edge: string;
  link: string;
  indirect: string;
  strong: string;
  card: string;
  cardLine: string;
  dataset: string;
  job: string;
  failed: string;
  good: string;
  running: string;
  text: string;
  ground: string;
}

export interface Emphasis {
  /** Wires to draw strong: "e12" for an edge, "l3" for a link. Null: nothing is singled out. */
  wires: ReadonlySet<string> | null;
  /** Nodes on the traced path; null when nothing is traced, else the rest is dimmed. */
  nodes: { has(id: string): boolean } | null;
  selected: string | null;
  current: string | null;
}

export function inkOf(element: Element): Ink {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    edge: of("edge"),
    link: of("link"),
    indirect: of("indirect"),
    strong: of("accent"),
    card: of("card"),
    cardLine: of("line"),
    dataset: of("dataset"),
    job: of("job"),
    failed: of("failed"),
    good: of("good"),
    running: of("running"),
    text: of("ink"),
    ground: of("field"),
  };
}

const KINDS: readonly WireKind[] = ["declared", "intermittent", "edge", "indirect", "link", "gone", "added"];

/** What there is to paint. A part that is the same object as before looks as before. */
export interface Painting {
  scene: Scene;
  view: View;
  /** What the canvases cover, which may be more than what is seen. */
  size: { width: number; height: number; ratio: number };
  ink: Ink;
  emphasis: Emphasis;
}

/** Hairlines never get thinner than the eye can follow, however far out. */
const hairline = (width: number, view: View) => Math.max(width, 0.7 / view.k);

/** A line outside of what is seen reaches into it by half of its width, in pixels. */
const REACH = 4;

/** Sets the drawing's coordinates. Returns what of it a part of the canvas shows. */
function place(context: CanvasRenderingContext2D, { view, size: { ratio } }: Painting, part: Strip): Region {
  context.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
  const across = (pixel: number) => (pixel / ratio - view.x) / view.k;
  const down = (pixel: number) => (pixel / ratio - view.y) / view.k;
  return {
    left: across(part.x - REACH),
    top: down(part.y - REACH),
    right: across(part.x + part.width + REACH),
    bottom: down(part.y + part.height + REACH),
  };
}

function clear(context: CanvasRenderingContext2D, painting: Painting): Region {
  const { width, height } = context.canvas;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, width, height);
  return place(context, painting, { x: 0, y: 0, width, height });
}

/** All edges, and far out the nodes: what stays as it is when another node is selected. */
export function paint(context: CanvasRenderingContext2D, painting: Painting) {
  paintRegion(context, painting, clear(context, painting));
}

/** The same, of a drawing that has only moved, by whole pixels: what is painted moves with it, the strips that are bare are painted. */
export function paintMoved(context: CanvasRenderingContext2D, painting: Painting, shift: { x: number; y: number }) {
  const { canvas } = context;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.globalCompositeOperation = "copy";
  context.drawImage(canvas, shift.x, shift.y);
  context.globalCompositeOperation = "source-over";
  for (const bare of bareAfter(shift, canvas.width, canvas.height)) {
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.beginPath();
    context.rect(bare.x, bare.y, bare.width, bare.height);
    context.clip();
    paintRegion(context, painting, place(context, painting, bare));
    context.restore();
  }
}

function paintRegion(context: CanvasRenderingContext2D, painting: Painting, region: Region) {
  const { scene, view, ink, emphasis } = painting;
  const { wires } = scene;
  const tracing = emphasis.nodes !== null;
  const hasLinks = scene.links.length > 0;
  for (const kind of KINDS) {
    const all = wires.kinds[kind];
    if (all.length === 0) continue;
    // Far out lines run together, and under column links the edges of whole nodes are the background.
    const faint = view.k < 0.25 || (hasLinks && (kind === "edge" || kind === "declared" || kind === "intermittent"));
    context.globalAlpha = tracing ? 0.16 : faint ? 0.5 : 1;
    context.strokeStyle = strokeOf(kind, ink);
    context.fillStyle = context.strokeStyle;
    context.lineWidth = hairline(kind === "added" || kind === "gone" ? 2.2 : kind === "edge" ? 1.5 : 1.2, view);
    context.setLineDash(view.k < 0.2 ? [] : dash(kind));
    stroke(context, all, region, view.k);
    if (kind !== "link" && kind !== "indirect") arrows(context, all, region, view.k);
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
  if (view.k >= CARD_ZOOM) return;
  paintNodes(context, scene, view, region, ink, emphasis);
  outline(context, painting, [scene.graph.root]);
}

/** Whether anything stands out over the drawing. */
export function standsOut({ scene, view, emphasis }: Painting): boolean {
  const { selected, current } = emphasis;
  if (emphasis.wires?.size) return true;
  const { root } = scene.graph;
  return view.k < CARD_ZOOM && [selected, current].some((id) => id !== null && id !== root);
}

/** Over the drawing: the strong edges, and far out the frames of the selected node and of the current one. */
export function paintOver(context: CanvasRenderingContext2D, painting: Painting) {
  const { view, ink, emphasis } = painting;
  const { wires } = painting.scene;
  const region = clear(context, painting);
  const strong: Wire[] = [];
  for (const key of emphasis.wires ?? []) {
    const wire = wires.byKey.get(key);
    if (wire) strong.push(wire);
  }
  context.strokeStyle = ink.strong;
  context.fillStyle = ink.strong;
  context.lineWidth = hairline(2.1, view);
  for (const kind of KINDS) {
    const some = strong.filter((wire) => wire.kind === kind);
    if (some.length === 0) continue;
    context.setLineDash(dash(kind));
    stroke(context, some, region, view.k);
    arrows(context, some, region, view.k);
  }
  context.setLineDash([]);
  if (view.k < CARD_ZOOM) outline(context, painting, [emphasis.selected, emphasis.current]);
}

function outline(context: CanvasRenderingContext2D, { scene, view, ink }: Painting, ids: readonly (string | null)[]) {
  context.strokeStyle = ink.strong;
  context.lineWidth = 2.5 / view.k;
  for (const id of ids) {
    const i = id === null ? undefined : scene.index.get(id);
    if (i === undefined) continue;
    context.beginPath();
    traceCard(context, scene, i);
    context.stroke();
  }
}

export function strokeOf(kind: WireKind, ink: Ink): string {
  if (kind === "link") return ink.link;
  if (kind === "indirect") return ink.indirect;
  if (kind === "added") return ink.good;
  return kind === "gone" ? ink.failed : ink.edge;
}

const outside = (wire: Wire, region: Region) =>
  wire.right < region.left || wire.left > region.right || wire.bottom < region.top || wire.top > region.bottom;

export function dash(kind: WireKind): number[] {
  return kind === "declared"
    ? [1.5, 5]
    : kind === "indirect"
      ? [6, 4]
      : kind === "gone"
        ? [8, 5]
        : kind === "intermittent"
          ? [14, 4]
          : [];
}

/** Under this a curve is as good as its chord. */
const CHORDS_BELOW = 0.16;

function stroke(context: CanvasRenderingContext2D, wires: readonly Wire[], region: Region, k: number) {
  context.lineCap = "butt";
  context.beginPath();
  for (const wire of wires) {
    if (outside(wire, region)) continue;
    const { curve } = wire;
    context.moveTo(curve[0], curve[1]);
    if (k < CHORDS_BELOW) for (let i = 6; i < curve.length; i += 6) context.lineTo(curve[i], curve[i + 1]);
    else
      for (let i = 2; i < curve.length; i += 6)
        context.bezierCurveTo(curve[i], curve[i + 1], curve[i + 2], curve[i + 3], curve[i + 4], curve[i + 5]);
  }
  context.stroke();
}

function arrows(context: CanvasRenderingContext2D, wires: readonly Wire[], region: Region, k: number) {
  if (k < 0.3) return;
  context.beginPath();
  for (const wire of wires) {
    if (outside(wire, region)) continue;
    const { curve } = wire;
    const x = curve[curve.length - 2];
    const y = curve[curve.length - 1];
    context.moveTo(x, y);
    context.lineTo(x - 7, y - 3.6);
    context.lineTo(x - 7, y + 3.6);
    context.closePath();
  }
  context.fill();
}

/** Loses its middle: names differ at the end. */
function shorten(label: string, room: number): string {
  if (label.length <= room) return label;
  const tail = Math.max(Math.floor(room / 2) - 1, 1);
  return `${label.slice(0, Math.max(room - tail - 1, 1))}…${label.slice(-tail)}`;
}

interface Region {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function paintNodes(
  context: CanvasRenderingContext2D,
  scene: Scene,
  view: View,
  region: Region,
  ink: Ink,
  emphasis: Emphasis,
) {
  const { layout, cards, graph } = scene;
  const tintOf = (i: number) => {
    const node = graph.nodes[i];
    if (node.tint) return node.tint;
    if (node.state === "FAILED") return ink.failed;
    if (node.state === "RUNNING") return ink.running;
    return node.kind === "job" ? ink.job : ink.dataset;
  };
  const seen: number[] = [];
  for (let i = 0; i < cards.length; i++) {
    const x = layout.x[i];
    const y = layout.y[i];
    if (x > region.right || x + cards[i].width < region.left || y > region.bottom || y + cards[i].height < region.top)
      continue;
    seen.push(i);
  }
  // The label keeps a size that can be read; it is left out where it would not fit its card.
  const labelled = HEAD_HEIGHT * view.k >= 11;
  if (labelled) paintLabelled(context, scene, seen, tintOf, view, ink, emphasis);
  else paintBlocks(context, scene, seen, tintOf, emphasis);
}

function traceCard(context: CanvasRenderingContext2D, { layout, cards, graph }: Scene, i: number) {
  const radius = graph.nodes[i].kind === "job" ? 24 : 8;
  context.roundRect(layout.x[i], layout.y[i], cards[i].width, cards[i].height, radius);
}

/** Too small for words: each card is a block in the colour of what it is, one path for each colour. */
function paintBlocks(
  context: CanvasRenderingContext2D,
  scene: Scene,
  seen: readonly number[],
  tintOf: (i: number) => string,
  emphasis: Emphasis,
) {
  const { layout, cards, graph } = scene;
  const byTint = new Map<string, number[]>();
  for (const i of seen) {
    const dim = emphasis.nodes && !emphasis.nodes.has(graph.nodes[i].id) ? "dim " : "";
    const key = dim + tintOf(i);
    const list = byTint.get(key);
    if (list) list.push(i);
    else byTint.set(key, [i]);
  }
  for (const [key, list] of byTint) {
    const dim = key.startsWith("dim ");
    context.globalAlpha = dim ? 0.3 : 1;
    context.fillStyle = dim ? key.slice(4) : key;
    context.beginPath();
    for (const i of list) context.rect(layout.x[i], layout.y[i], cards[i].width, cards[i].height);
    context.fill();
  }
  context.globalAlpha = 1;
}

function paintLabelled(
  context: CanvasRenderingContext2D,
  scene: Scene,
  seen: readonly number[],
  tintOf: (i: number) => string,
  view: View,
  ink: Ink,
  emphasis: Emphasis,
) {
  const { layout, cards, graph } = scene;
  const letter = Math.min(10 / view.k, 26);
  context.font = `${letter}px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace`;
  context.textBaseline = "middle";
  for (const i of seen) {
    const node = graph.nodes[i];
    const x = layout.x[i];
    const y = layout.y[i];
    const { width, height } = cards[i];
    const tint = tintOf(i);
    context.globalAlpha = emphasis.nodes && !emphasis.nodes.has(node.id) ? 0.3 : 1;
    context.fillStyle = ink.card;
    context.strokeStyle = ink.cardLine;
    context.lineWidth = 1 / view.k;
    context.beginPath();
    traceCard(context, scene, i);
    context.fill();
    context.stroke();
    context.fillStyle = tint;
    context.beginPath();
    if (node.kind === "job") context.arc(x + 25, y + HEAD_HEIGHT / 2, 9, 0, Math.PI * 2);
    else context.roundRect(x, y, 10, height, [8, 0, 0, 8]);
    context.fill();
    const inset = node.kind === "job" ? 44 : 22;
    const room = Math.floor((width - inset - 8) / (letter * 0.602));
    context.fillStyle = ink.text;
    context.fillText(shorten(node.label, room), x + inset, y + HEAD_HEIGHT / 2);
  }
  context.globalAlpha = 1;
}
