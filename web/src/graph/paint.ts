// The canvas under the cards: all edges, and far out the nodes too. Called once a frame while the view moves.
import { HEAD_HEIGHT } from "./card-size.ts";
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
  running: string;
  text: string;
}

export interface Emphasis {
  /** Wires to draw strong: "e12" for an edge, "l3" for a link. Null: nothing is singled out. */
  wires: ReadonlySet<string> | null;
  /** Nodes on the traced path; null when nothing is traced, else the rest is dimmed. */
  nodes: ReadonlyMap<string, unknown> | null;
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
    running: of("running"),
    text: of("ink"),
  };
}

const wireKey = (wire: Wire) => (wire.kind === "edge" || wire.kind === "declared" ? "e" : "l") + wire.index;

export function paint(
  context: CanvasRenderingContext2D,
  scene: Scene,
  wires: readonly Wire[],
  view: View,
  size: { width: number; height: number; ratio: number },
  ink: Ink,
  emphasis: Emphasis,
) {
  const { ratio } = size;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  context.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
  const left = -view.x / view.k;
  const top = -view.y / view.k;
  const right = left + size.width / view.k;
  const bottom = top + size.height / view.k;
  const seen = wires.filter((w) => w.right >= left && w.left <= right && w.bottom >= top && w.top <= bottom);
  const strong = emphasis.wires;
  const tracing = emphasis.nodes !== null;
  const hasLinks = scene.links.length > 0;

  // Hairlines never get thinner than the eye can follow, however far out.
  const line = (width: number) => Math.max(width, 0.7 / view.k);
  const kinds: WireKind[] = ["declared", "edge", "indirect", "link"];
  for (const kind of kinds) {
    // Far out lines run together, and under column links the edges of whole nodes are the background.
    const faint = view.k < 0.25 || (hasLinks && (kind === "edge" || kind === "declared"));
    context.globalAlpha = tracing ? 0.16 : faint ? 0.5 : 1;
    context.strokeStyle = kind === "link" ? ink.link : kind === "indirect" ? ink.indirect : ink.edge;
    context.fillStyle = context.strokeStyle;
    context.lineWidth = line(kind === "edge" ? 1.5 : 1.2);
    context.setLineDash(dash(kind));
    const some = seen.filter((w) => w.kind === kind && !strong?.has(wireKey(w)));
    stroke(context, some);
    if (kind === "edge" || kind === "declared") arrows(context, some, view.k);
  }
  context.globalAlpha = 1;
  if (strong?.size) {
    context.strokeStyle = ink.strong;
    context.fillStyle = ink.strong;
    context.lineWidth = line(2.1);
    for (const kind of kinds) {
      context.setLineDash(dash(kind));
      const some = seen.filter((w) => w.kind === kind && strong.has(wireKey(w)));
      stroke(context, some);
      arrows(context, some, view.k);
    }
  }
  context.setLineDash([]);
  if (view.k < CARD_ZOOM) paintNodes(context, scene, view, { left, top, right, bottom }, ink, emphasis);
}

function dash(kind: WireKind): number[] {
  return kind === "declared" ? [1.5, 5] : kind === "indirect" ? [6, 4] : [];
}

function stroke(context: CanvasRenderingContext2D, wires: readonly Wire[]) {
  if (wires.length === 0) return;
  context.lineCap = "round";
  context.beginPath();
  for (const { curve } of wires) {
    context.moveTo(curve[0], curve[1]);
    for (let i = 2; i < curve.length; i += 6)
      context.bezierCurveTo(curve[i], curve[i + 1], curve[i + 2], curve[i + 3], curve[i + 4], curve[i + 5]);
  }
  context.stroke();
}

function arrows(context: CanvasRenderingContext2D, wires: readonly Wire[], k: number) {
  if (k < 0.3) return;
  context.beginPath();
  for (const { curve } of wires) {
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
  // The label keeps a size that can be read; it is left out where it would not fit its card.
  const labelled = HEAD_HEIGHT * view.k >= 11;
  const letter = Math.min(10 / view.k, 26);
  context.font = `${letter}px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace`;
  context.textBaseline = "middle";
  for (let i = 0; i < cards.length; i++) {
    const x = layout.x[i];
    const y = layout.y[i];
    const { width, height } = cards[i];
    if (x > region.right || x + width < region.left || y > region.bottom || y + height < region.top) continue;
    const node = graph.nodes[i];
    const chosen = node.id === emphasis.selected || node.id === emphasis.current || node.id === graph.root;
    context.globalAlpha = emphasis.nodes && !emphasis.nodes.has(node.id) ? 0.3 : 1;
    const tint =
      node.state === "FAILED"
        ? ink.failed
        : node.state === "RUNNING"
          ? ink.running
          : node.kind === "job"
            ? ink.job
            : ink.dataset;
    // Too small for words: the whole card takes the colour of what it is.
    context.fillStyle = labelled ? ink.card : tint;
    context.strokeStyle = chosen ? ink.strong : ink.cardLine;
    context.lineWidth = (chosen ? 2.5 : 1) / view.k;
    context.beginPath();
    context.roundRect(x, y, width, height, node.kind === "job" ? 24 : 8);
    context.fill();
    context.stroke();
    if (!labelled) continue;
    context.fillStyle = tint;
    context.beginPath();
    if (node.kind === "job") context.arc(x + 25, y + HEAD_HEIGHT / 2, 9, 0, Math.PI * 2);
    else context.roundRect(x, y, 10, height, [8, 0, 0, 8]);
    context.fill();
    const inset = node.kind === "job" ? 44 : 22;
    const room = Math.floor((width - inset - 8) / (letter * 0.602));
    const label = shorten(node.label, room);
    context.fillStyle = ink.text;
    context.fillText(label, x + inset, y + HEAD_HEIGHT / 2);
  }
  context.globalAlpha = 1;
}
