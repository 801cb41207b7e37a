// Which nodes of a new drawing keep the place that they have on the screen, and where the others once stood. Pure.
import type { Placed } from "./extend.ts";
import type { Layout } from "./layout.ts";
import type { Plan, Scene } from "./scene.ts";

type Places = ReadonlyMap<string, readonly [x: number, y: number]>;

/** More new nodes than this for one that is placed, and the whole is drawn anew: most of it would be an appendix. */
const MOST_NEW = 3;
/** So many may be added to any drawing. */
const FEW = 60;

/** Whether the same cards, in the same order, with the same edges, ask for the place where they stand already. */
export function isPlacedAlike(before: Plan, plan: Plan): boolean {
  const was = before.input;
  const now = plan.input;
  return (
    before.graph.root === plan.graph.root &&
    before.arranged === plan.arranged &&
    was.layerGap === now.layerGap &&
    LISTS.every((key) => was[key].length === now[key].length && was[key].every((value, i) => value === now[key][i]))
  );
}
const LISTS = ["ids", "width", "height", "source", "target"] as const;

/** Null: the plan is drawn anew, because it has another start or other cards, is mostly new, or the reader asked for it. */
export function placedIn(before: Scene | null, plan: Plan): Placed | null {
  if (!before || before.graph.root !== plan.graph.root || before.arranged !== plan.arranged) return null;
  const n = plan.cards.length;
  const placed = {
    x: new Float64Array(n).fill(Number.NaN),
    y: new Float64Array(n).fill(Number.NaN),
    held: new Uint8Array(n),
    rows: before.layout.rows,
  };
  let kept = 0;
  for (let v = 0; v < n; v++) {
    const id = plan.graph.nodes[v].id;
    const was = before.index.get(id);
    if (was !== undefined) {
      if (before.cards[was].height !== plan.cards[v].height || before.cards[was].width !== plan.cards[v].width)
        return null;
      placed.x[v] = before.layout.x[was];
      placed.y[v] = before.layout.y[was];
      placed.held[v] = 1;
      kept++;
    } else {
      const place = before.gone.get(id);
      if (place) [placed.x[v], placed.y[v]] = place;
    }
  }
  return kept === 0 || n - kept > Math.max(FEW, kept * MOST_NEW) ? null : placed;
}

/** Where nodes stood that are not on the screen now, in the coordinates of the new drawing. */
export function goneAfter(before: Scene | null, plan: Plan, placed: Placed | null, layout: Layout): Places {
  const gone = new Map<string, readonly [number, number]>();
  const held = placed ? placed.held.indexOf(1) : -1;
  if (!before || !placed || held < 0) return gone;
  const [dx, dy] = [layout.x[held] - placed.x[held], layout.y[held] - placed.y[held]];
  for (const [id, [x, y]] of before.gone) if (!plan.index.has(id)) gone.set(id, [x + dx, y + dy]);
  before.graph.nodes.forEach((node, i) => {
    if (!plan.index.has(node.id)) gone.set(node.id, [before.layout.x[i] + dx, before.layout.y[i] + dy]);
  });
  return gone;
}
