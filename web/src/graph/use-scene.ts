// Layout as a hook: small graphs at once, large ones in a worker while the last drawing stays on the screen.
import { useEffect, useMemo, useRef, useState } from "react";
import { type Layout, layOut } from "./layout.ts";
import type { Plan, Scene } from "./scene.ts";

/** Above this a layout may take longer than a frame. */
const WORKER_ABOVE = 150;

export function useScene(plan: Plan): Scene | null {
  const small = plan.cards.length <= WORKER_ABOVE;
  const now = useMemo(() => (small ? measured(plan) : null), [plan, small]);
  const [, redraw] = useState(0);
  const last = useRef<Scene | null>(null);
  if (now) last.current = now;
  const worker = useRef<Worker | null>(null);
  const ticket = useRef(0);

  useEffect(() => {
    if (small) return;
    worker.current ??= new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    const mine = ++ticket.current;
    const begun = performance.now();
    const receive = (event: MessageEvent<{ ticket: number; layout: Layout }>) => {
      if (event.data.ticket !== mine) return;
      const took = performance.now() - begun;
      last.current = { ...plan, layout: event.data.layout, took };
      redraw(mine);
    };
    const current = worker.current;
    current.addEventListener("message", receive);
    current.postMessage({ ticket: mine, input: plan.input });
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

function measured(plan: Plan): Scene {
  const begun = performance.now();
  const layout = layOut(plan.input);
  return { ...plan, layout, took: performance.now() - begun };
}
