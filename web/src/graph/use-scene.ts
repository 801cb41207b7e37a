// Layout as a hook: small graphs at once, large ones in a worker while the last drawing stays on the screen. What is on the
// screen keeps its place (places.ts).
import { useEffect, useMemo, useRef, useState } from "react";
import { type Layout, layOut } from "./layout.ts";
import { goneAfter, isPlacedAlike, placedIn } from "./places.ts";
import { type Arranged, hasSameLines, type Plan, type Scene } from "./scene.ts";
import { wireSet, wiresOf } from "./wires.ts";

/** Above this a layout may take longer than a frame. */
const WORKER_ABOVE = 150;

export function useScene(plan: Plan): Scene | null {
  const [, redraw] = useState(0);
  const last = useRef<Scene | null>(null);
  const now = useMemo(() => atOnce(plan, last.current), [plan]);
  if (now) last.current = now;
  const worker = useRef<Worker | null>(null);
  const ticket = useRef(0);

  useEffect(() => {
    if (now || last.current?.cards === plan.cards) return;
    worker.current ??= new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    const mine = ++ticket.current;
    const begun = performance.now();
    const before = last.current;
    const placed = placedIn(before, plan);
    const receive = (event: MessageEvent<{ ticket: number; layout: Layout }>) => {
      if (event.data.ticket !== mine) return;
      const { layout } = event.data;
      const gone = goneAfter(before, plan, placed, layout);
      last.current = { ...drawn({ ...plan, layout }, before), gone, took: performance.now() - begun };
      redraw(mine);
    };
    const current = worker.current;
    current.addEventListener("message", receive);
    current.postMessage({ ticket: mine, input: { ...plan.input, placed } });
    return () => current.removeEventListener("message", receive);
  }, [plan, now]);

  useEffect(
    () => () => {
      worker.current?.terminate();
      worker.current = null;
    },
    [],
  );
  return last.current;
}

/** Null: the layout takes longer than a frame. */
function atOnce(plan: Plan, before: Scene | null): Scene | null {
  // A lens changes colours and notes: all stays where it is.
  if (before && isPlacedAlike(before, plan))
    return { ...drawn({ ...plan, layout: before.layout }, before), gone: before.gone, took: 0 };
  if (plan.cards.length > WORKER_ABOVE) return null;
  const begun = performance.now();
  const placed = placedIn(before, plan);
  const layout = layOut({ ...plan.input, placed });
  const gone = goneAfter(before, plan, placed, layout);
  return { ...drawn({ ...plan, layout }, before), gone, took: performance.now() - begun };
}

const drawn = (arranged: Arranged, before: Scene | null) => ({
  ...arranged,
  wires: before && hasSameLines(before, arranged) ? before.wires : wireSet(wiresOf(arranged)),
});
