import { expect, test } from "vitest";
import { heldView, openingView, viewOfFewer } from "./first-view.ts";
import type { Scene } from "./scene.ts";

/** Cards of 200 × 50 at these places, in a drawing of this size. */
function scene(places: Record<string, [number, number]>, root: string, width = 1000, height = 500): Scene {
  const ids = Object.keys(places);
  return {
    graph: { root, nodes: ids.map((id) => ({ id })) },
    index: new Map(ids.map((id, i) => [id, i])),
    cards: ids.map(() => ({ width: 200, height: 50 })),
    layout: { width, height, x: ids.map((id) => places[id][0]), y: ids.map((id) => places[id][1]) },
  } as unknown as Scene;
}
const ROOM = { width: 1000, height: 600 };

test("a drawing that can be read as a whole is shown as a whole", () => {
  const small = scene({ a: [0, 0], b: [800, 400] }, "a");
  const view = openingView(small, ROOM, 0.5);
  expect(view.k * 1000).toBeLessThanOrEqual(ROOM.width);
  expect(view.x).toBeGreaterThanOrEqual(0);
});

test("one that is too large opens at its root, large enough to read", () => {
  const large = scene({ a: [50_000, 20_000], b: [0, 0] }, "a", 100_000, 40_000);
  const { x, y, k } = openingView(large, ROOM, 0.5);
  expect(k).toBe(0.8);
  expect(50_000 * k + x).toBeGreaterThan(0);
  expect(50_200 * k + x).toBeLessThan(ROOM.width);
  expect(20_000 * k + y).toBeGreaterThan(0);
});

test("what was in view before stands where it stood; the first that is in both counts", () => {
  const before = scene({ a: [100, 100], b: [400, 100] }, "a");
  const after = scene({ b: [700, 300], c: [0, 0] }, "c");
  const view = { x: 10, y: 20, k: 0.5 };
  const held = heldView(view, before, after, [null, "gone", "a", "b"])!;
  expect(700 * held.k + held.x).toBe(400 * view.k + view.x);
  expect(300 * held.k + held.y).toBe(100 * view.k + view.y);
  expect(heldView(view, before, after, ["a", null])).toBeNull();
  expect(heldView(view, null, after, ["b"])).toBeNull();
});

test("a drawing of fewer nodes that would be out of sight is shown as a whole; one in sight, or of more, stays", () => {
  const before = scene({ a: [0, 0], b: [300, 0], c: [600, 0] }, "a");
  const fewer = scene({ a: [0, 0], b: [300, 0] }, "a", 500, 50);
  const away = { k: 0.8, x: 900, y: 100 };
  expect(viewOfFewer(away, before, fewer, ROOM).x).toBeLessThan(500);
  const inSight = { k: 0.8, x: 100, y: 100 };
  expect(viewOfFewer(inSight, before, fewer, ROOM)).toEqual(inSight);
  expect(viewOfFewer(away, fewer, before, ROOM)).toEqual(away);
  // What has no room at this zoom stays where the reader looks.
  const large = scene({ a: [0, 0], b: [9000, 0] }, "a", 9200, 50);
  expect(viewOfFewer(away, before, large, ROOM)).toEqual(away);
});
