// The hand on the map: drag, wheel, pinch and animated moves, all ending in one callback per frame.
import { type RefObject, useCallback, useEffect, useMemo, useRef } from "react";
import { type View, zoomAt } from "./viewport.ts";

export interface Viewport {
  view: RefObject<View>;
  go(next: View, animate?: boolean): void;
  /** Asks for a frame without moving: something else on the drawing changed. */
  redraw(): void;
}

const GLIDE_MS = 220;
const STILL = typeof matchMedia === "undefined" ? null : matchMedia("(prefers-reduced-motion: reduce)");
/** A press that moves less than this is a click. */
const SLACK = 4;

export function useViewport(host: RefObject<HTMLElement | null>, onFrame: () => void): Viewport {
  const view = useRef<View>({ x: 0, y: 0, k: 1 });
  const callback = useRef(onFrame);
  callback.current = onFrame;
  const pending = useRef(0);
  const glide = useRef(0);

  const redraw = useCallback(() => {
    if (pending.current) return;
    pending.current = requestAnimationFrame(() => {
      pending.current = 0;
      callback.current();
    });
  }, []);

  const go = useCallback(
    (next: View, animate = false) => {
      cancelAnimationFrame(glide.current);
      const { x, y, k } = view.current;
      if (next.x === x && next.y === y && next.k === k) return;
      if (!animate || STILL?.matches) {
        view.current = next;
        redraw();
        return;
      }
      const from = view.current;
      const begun = performance.now();
      const step = (now: number) => {
        const t = Math.min(Math.max((now - begun) / GLIDE_MS, 0), 1);
        const eased = 1 - (1 - t) ** 3;
        const mix = (a: number, b: number) => a + (b - a) * eased;
        view.current = t === 1 ? next : { x: mix(from.x, next.x), y: mix(from.y, next.y), k: mix(from.k, next.k) };
        callback.current();
        if (t < 1) glide.current = requestAnimationFrame(step);
      };
      glide.current = requestAnimationFrame(step);
    },
    [redraw],
  );

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const pointers = new Map<number, PointerEvent>();
    let dragged = false;
    let origin = { x: 0, y: 0 };

    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      const box = element.getBoundingClientRect();
      if (!event.ctrlKey && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))) {
        const dx = event.deltaX || event.deltaY;
        go({ ...view.current, x: view.current.x - dx * unit });
        return;
      }
      const factor = Math.exp(-event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0016));
      go(zoomAt(view.current, factor, event.clientX - box.left, event.clientY - box.top));
    };
    const down = (event: PointerEvent) => {
      if (event.button !== 0) return;
      if (pointers.size === 0) {
        dragged = false;
        origin = { x: event.clientX, y: event.clientY };
      }
      pointers.set(event.pointerId, event);
    };
    const move = (event: PointerEvent) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      if (!dragged && Math.hypot(event.clientX - origin.x, event.clientY - origin.y) < SLACK) return;
      if (!dragged) {
        dragged = true;
        element.setPointerCapture(event.pointerId);
        element.classList.add("is-panning");
      }
      if (pointers.size === 2) {
        const other = [...pointers.values()].find((p) => p.pointerId !== event.pointerId)!;
        const was = Math.hypot(before.clientX - other.clientX, before.clientY - other.clientY);
        const is = Math.hypot(event.clientX - other.clientX, event.clientY - other.clientY);
        const box = element.getBoundingClientRect();
        const px = (event.clientX + other.clientX) / 2 - box.left;
        const py = (event.clientY + other.clientY) / 2 - box.top;
        if (was > 0) go(zoomAt(view.current, is / was, px, py));
      } else {
        const { x, y, k } = view.current;
        go({ k, x: x + event.clientX - before.clientX, y: y + event.clientY - before.clientY });
      }
      pointers.set(event.pointerId, event);
    };
    const up = (event: PointerEvent) => {
      pointers.delete(event.pointerId);
      element.classList.remove("is-panning");
    };
    // The end of a drag is not a click on what happens to be under the pointer.
    const click = (event: MouseEvent) => {
      if (!dragged) return;
      dragged = false;
      event.stopPropagation();
      event.preventDefault();
    };
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("pointerdown", down);
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", up);
    element.addEventListener("pointercancel", up);
    element.addEventListener("click", click, { capture: true });
    return () => {
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("pointerdown", down);
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", up);
      element.removeEventListener("pointercancel", up);
      element.removeEventListener("click", click, { capture: true });
    };
  }, [host, go]);

  useEffect(
    () => () => {
      cancelAnimationFrame(pending.current);
      cancelAnimationFrame(glide.current);
      pending.current = 0;
    },
    [],
  );
  return useMemo(() => ({ view, go, redraw }), [go, redraw]);
}
