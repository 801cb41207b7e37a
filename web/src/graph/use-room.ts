// The room of the drawing on the page, and the canvases that cover it. They keep what a panel beside them takes away: to open it and to
// close it again paints nothing anew.
import { type RefObject, useCallback, useLayoutEffect, useRef } from "react";

export interface Size {
  width: number;
  height: number;
}

export interface Paper extends Size {
  /** Pixels of the screen for one of the page. */
  ratio: number;
}

/** Canvases stay larger than the room by so much at most, in CSS pixels: wider than any panel. */
const SPARE = 480;

export const coverOf = (before: number, wanted: number) =>
  wanted > before || wanted < before - SPARE ? wanted : before;

export interface Room {
  /** What is seen of the drawing. */
  room: RefObject<Size>;
  /** What the canvases cover. Another object: they were emptied. */
  paper: RefObject<Paper>;
  /** Looks now, before the browser says that the room has changed. */
  measure(): void;
}

export function useRoom(
  host: RefObject<HTMLElement | null>,
  ground: RefObject<HTMLCanvasElement | null>,
  over: RefObject<HTMLCanvasElement | null>,
  redraw: () => void,
): Room {
  const room = useRef<Size>({ width: 0, height: 0 });
  const paper = useRef<Paper>({ width: 0, height: 0, ratio: 1 });
  const measure = useCallback(() => {
    const { clientWidth: width, clientHeight: height } = host.current!;
    const { width: roomWidth, height: roomHeight } = room.current;
    const before = paper.current;
    const now = {
      width: coverOf(before.width, width),
      height: coverOf(before.height, height),
      ratio: devicePixelRatio || 1,
    };
    if (width === roomWidth && height === roomHeight && now.ratio === before.ratio) return;
    room.current = { width, height };
    if (now.width !== before.width || now.height !== before.height || now.ratio !== before.ratio) {
      paper.current = now;
      for (const canvas of [ground.current!, over.current!]) {
        canvas.width = Math.round(now.width * now.ratio);
        canvas.height = Math.round(now.height * now.ratio);
        canvas.style.width = `${now.width}px`;
        canvas.style.height = `${now.height}px`;
      }
    }
    redraw();
  }, [host, ground, over, redraw]);
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(host.current!);
    return () => observer.disconnect();
  }, [host, measure]);
  return { room, paper, measure };
}
