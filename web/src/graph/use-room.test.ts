import { expect, test } from "vitest";
import { coverOf } from "./use-room.ts";

test("canvases grow with the room, keep what a panel takes, and shrink with the window", () => {
  expect(coverOf(0, 900)).toBe(900);
  expect(coverOf(900, 1400)).toBe(1400);
  expect(coverOf(1400, 1020)).toBe(1400);
  expect(coverOf(1400, 700)).toBe(700);
});
