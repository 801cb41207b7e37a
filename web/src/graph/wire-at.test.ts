import { expect, test } from "vitest";
import { wireAt } from "./wire-at.ts";
import { type Wire, wireSet } from "./wires.ts";

const wire = (index: number, y: number): Wire => ({
  kind: "edge",
  index,
  curve: Float64Array.of(0, y, 50, y, 50, y + 100, 100, y + 100),
  left: 0,
  top: y,
  right: 100,
  bottom: y + 100,
});

test("the nearest wire within reach, by its curve and not by its box", () => {
  const wires = wireSet([wire(0, 0), wire(1, 20)]);
  expect(wireAt(wires, 50, 50, 6)?.index).toBe(0);
  expect(wireAt(wires, 50, 70, 6)?.index).toBe(1);
  expect(wireAt(wires, 90, 10, 6)).toBe(null);
  expect(wireAt(wires, -4, 0, 6)?.index).toBe(0);
});
