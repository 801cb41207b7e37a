// The course of every edge and column link, as cubic curves in the coordinates of the layout.
import { HEAD_HEIGHT, rowAnchor } from "./card-size.ts";
import type { Arranged } from "./scene.ts";

export type WireKind = "edge" | "declared" | "intermittent" | "link" | "indirect" | "added" | "gone";

export interface Wire {
  kind: WireKind;
  /** Index into graph.edges (edge, declared, intermittent) or links (link, indirect). */
  index: number;
  /** x, y of the start, then six numbers for each cubic. */
  curve: Float64Array;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Wires as the painter wants them: by kind, and each one by its key. */
export interface WireSet {
  kinds: Record<WireKind, readonly Wire[]>;
  byKey: ReadonlyMap<string, Wire>;
}

export function wireSet(wires: readonly Wire[]): WireSet {
  const kinds: Record<WireKind, Wire[]> = {
    declared: [],
    intermittent: [],
    edge: [],
    indirect: [],
    link: [],
    added: [],
    gone: [],
  };
  const byKey = new Map<string, Wire>();
  for (const wire of wires) {
    kinds[wire.kind].push(wire);
    byKey.set((wire.kind === "link" || wire.kind === "indirect" ? "l" : "e") + wire.index, wire);
  }
  return { kinds, byKey };
}

/** `back`: the curve passes it from right to left. */
type Point = [x: number, y: number, back?: boolean];

export function wiresOf(scene: Arranged): Wire[] {
  const { graph, index, layout, cards } = scene;
  const wires: Wire[] = [];
  const edgeOf = new Map<number, number>();
  const between = (s: number, t: number) => s * cards.length + t;
  const start = (i: number, dy: number): Point => [layout.x[i] + cards[i].width, layout.y[i] + dy];
  const end = (i: number, dy: number): Point => [layout.x[i], layout.y[i] + dy];
  const middle = HEAD_HEIGHT / 2;

  graph.edges.forEach((edge, e) => {
    const s = index.get(edge.source)!;
    const t = index.get(edge.target)!;
    edgeOf.set(between(s, t), e);
    const from = start(s, middle);
    const to = end(t, middle);
    const curve = layout.reversed[e] ? around(from, to) : through([from, ...bends(scene, e, 0), to]);
    wires.push(
      wire(
        edge.change === "added" || edge.change === "gone"
          ? edge.change
          : edge.declared
            ? "declared"
            : edge.intermittent
              ? "intermittent"
              : "edge",
        e,
        curve,
      ),
    );
  });

  const lanes = lanesOf(scene);
  scene.links.forEach((link, l) => {
    const s = index.get(link.source)!;
    const t = index.get(link.target)!;
    const kind = link.indirect ? "indirect" : "link";
    const from = start(s, rowAnchor(cards[s], graph.nodes[s], link.sourceField));
    const to = end(t, rowAnchor(cards[t], graph.nodes[t], link.targetField));
    const j = link.job === null || link.job === link.target ? undefined : index.get(link.job);
    const before = j === undefined ? edgeOf.get(between(s, t)) : edgeOf.get(between(s, j));
    const after = j === undefined ? undefined : edgeOf.get(between(j, t));
    const lane = lanes.get(l) ?? 0;
    if (j === undefined || before === undefined || after === undefined) {
      const passing = before !== undefined && !layout.reversed[before] ? bends(scene, before, lane / 2) : [];
      const turns = passing.some(([, , back]) => back);
      wires.push(wire(kind, l, from[0] > to[0] && !turns ? around(from, to) : through([from, ...passing, to])));
      return;
    }
    if (layout.reversed[before] || layout.reversed[after]) {
      wires.push(wire(kind, l, from[0] > to[0] ? around(from, to) : through([from, to])));
      return;
    }
    // Through the job that made it: the card hides the middle, so each link keeps a lane of its own.
    const dy = middle + lane;
    const points = [
      from,
      ...bends(scene, before, lane / 2),
      end(j, dy),
      start(j, dy),
      ...bends(scene, after, lane / 2),
      to,
    ];
    wires.push(wire(kind, l, through(points)));
  });
  return wires;
}

/** Heights at which the links through one job pass it, in the order of where they come from and go to. */
function lanesOf(scene: Arranged): Map<number, number> {
  const { graph, index, layout, cards } = scene;
  const byJob = new Map<string, { l: number; at: number }[]>();
  scene.links.forEach((link, l) => {
    if (link.job === null || link.job === link.target) return;
    const s = index.get(link.source)!;
    const t = index.get(link.target)!;
    const at =
      layout.y[s] +
      rowAnchor(cards[s], graph.nodes[s], link.sourceField) +
      layout.y[t] +
      rowAnchor(cards[t], graph.nodes[t], link.targetField);
    const list = byJob.get(link.job);
    if (list) list.push({ l, at });
    else byJob.set(link.job, [{ l, at }]);
  });
  const lanes = new Map<number, number>();
  for (const list of byJob.values()) {
    list.sort((a, b) => a.at - b.at || a.l - b.l);
    const step = Math.min(5, (HEAD_HEIGHT - 14) / Math.max(list.length - 1, 1));
    list.forEach(({ l }, i) => {
      lanes.set(l, (i - (list.length - 1) / 2) * step);
    });
  }
  return lanes;
}

function bends(scene: Arranged, e: number, dy: number): Point[] {
  const { bendStart, bends: flat } = scene.layout;
  const points: Point[] = [];
  for (let o = bendStart[e]; o < bendStart[e + 1]; o += 3) {
    const back = flat[o] > flat[o + 1];
    points.push([flat[o], flat[o + 2] + dy, back], [flat[o + 1], flat[o + 2] + dy, back]);
  }
  return points;
}

/** How far a curve swings out where it turns back. */
const TURN = 30;

/** Horizontal at every point. */
function through(points: readonly Point[]): Float64Array {
  const curve = new Float64Array(2 + 6 * (points.length - 1));
  curve[0] = points[0][0];
  curve[1] = points[0][1];
  for (let i = 1; i < points.length; i++) {
    const [x0, y0, back0 = false] = points[i - 1];
    const [x1, y1, back1 = false] = points[i];
    const pull = Math.abs(x1 - x0) * 0.5;
    if (back0 === back1) {
      const along = back0 ? -pull : pull;
      curve.set([x0 + along, y0, x1 - along, y1, x1, y1], 2 + 6 * (i - 1));
    } else {
      const out = back1 ? Math.max(x0, x1) + TURN : Math.min(x0, x1) - TURN;
      curve.set([out, y0, out, y1, x1, y1], 2 + 6 * (i - 1));
    }
  }
  return curve;
}

/** Back to the left over the top: the edge that closes a cycle. */
function around([x0, y0]: Point, [x1, y1]: Point): Float64Array {
  const rise = 60 + Math.abs(x0 - x1) * 0.08;
  const top = Math.min(y0, y1) - rise;
  return Float64Array.of(
    x0,
    y0,
    x0 + 70,
    y0,
    x0 + 50,
    top,
    x0 - 20,
    top,
    x0 - 30,
    top,
    x1 + 30,
    top,
    x1 + 20,
    top,
    x1 - 50,
    top,
    x1 - 70,
    y1,
    x1,
    y1,
  );
}

function wire(kind: WireKind, index: number, curve: Float64Array): Wire {
  let left = Number.POSITIVE_INFINITY;
  let top = Number.POSITIVE_INFINITY;
  let right = Number.NEGATIVE_INFINITY;
  let bottom = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < curve.length; i += 2) {
    left = Math.min(left, curve[i]);
    right = Math.max(right, curve[i]);
    top = Math.min(top, curve[i + 1]);
    bottom = Math.max(bottom, curve[i + 1]);
  }
  return { kind, index, curve, left, top, right, bottom };
}
