// Layout as a hook: small graphs at once, large ones in a worker while the last drawing stays on the screen. What is on the
// screen keeps its place (places.ts).
import { useEffect, useMemo, useRef, useState } from "react";
import { type Layout, layOut } from "./layout.ts";
import { goneAfter, placedIn } from "./places.ts";
import type { Plan, Scene } from "./scene.ts";

/** Above this a layout may take longer than a frame. */
const WORKER_ABOVE = 150;

export function useScene(plan: Plan): Scene | null {
  const small = plan.cards.length <= WORKER_ABOVE;
  const [, redraw] = useState(0);
  const last = useRef<Scene | null>(null);
  const now = useMemo(() => (small ? measured(plan, last.current) : null), [plan, small]);
  if (now) last.current = now;
  const worker = useRef<Worker | null>(null);
  const ticket = useRef(0);

  useEffect(() => {
    if (small) return;
    worker.current ??= new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    const mine = ++ticket.current;
    const begun = performance.now();
    const before = last.current;
    const placed = placedIn(before, plan);
    const receive = (event: MessageEvent<{ ticket: number; layout: Layout }>) => {
      if (event.data.ticket !== mine) return;
      const { layout } = event.data;
      last.current = {
        ...plan,
        layout,
        gone: goneAfter(before, plan, placed, layout),
        took: performance.now() - begun,
      };
      redraw(mine);
    };
    const current = worker.current;
    current.addEventListener("message", receive);
    current.postMessage({ ticket: mine, input: { ...plan.input, placed } });
    return () => current.removeEventListener("message", receive);
  }, [plan, small]);

  useEffect(
    () => () => {
      worker.current?.terminate();
      worker.current = null;
    },
    [],
  );
  return last.current;
}

function measured(plan: Plan, before: Scene | null): Scene {
  const begun = performance.now();
  const placed = placedIn(before, plan);
  const layout = layOut({ ...plan.input, placed });
  return { ...plan, layout, gone: goneAfter(before, plan, placed, layout), took: performance.now() - begun };
}
