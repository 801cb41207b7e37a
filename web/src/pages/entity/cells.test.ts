import { expect, test } from "vitest";
import { cellsOf, holds, rangeOf, rowsOf } from "./cells.ts";

const stretch = (instances: string, status: string, valid = true) => ({ instances, status, valid, states: [] });

test("a range holds both of its ends", () => {
  expect(holds("2024-03-01..2024-03-09", "2024-03-09")).toBe(true);
  expect(holds("2024-03-01..2024-03-09", "2024-03-10")).toBe(false);
  expect(holds("2024-03-01", "2024-03-01")).toBe(true);
  expect(holds("..2024-03-09", "2020-01-01")).toBe(true);
});

test("cells have the state of their stretch; completed and not valid is doubted", () => {
  const periods = ["2024-03-01", "2024-03-02", "2024-03-03", "2024-03-04"].map((instance) => ({
    instance,
    start: null,
  }));
  const cells = cellsOf(periods, [
    stretch("2024-03-01", "completed"),
    stretch("2024-03-02", "completed", false),
    stretch("2024-03-03", "wrong"),
  ]);
  expect(cells.map((cell) => cell.state)).toEqual(["valid", "doubted", "wrong", "missing"]);
  expect(rangeOf(cells, "2024-03-03", "2024-03-01")).toBe("2024-03-01..2024-03-03");
});

test("a day of 23 or 25 hours has as many cells; days stand in weeks", () => {
  const hours = Array.from({ length: 23 }, (_, i) => ({
    instance: `2013-03-10T${String(i).padStart(2, "0")}`,
    start: null,
    state: "valid",
  }));
  expect(rowsOf(hours).map((row) => [row.label, row.cells.length])).toEqual([["2013-03-10", 23]]);
  const days = ["2013-03-09", "2013-03-10", "2013-03-11"].map((instance) => ({
    instance,
    start: null,
    state: "valid",
  }));
  expect(rowsOf(days).map((row) => [row.label, row.cells.length])).toEqual([
    ["week of 2013-03-04", 2],
    ["week of 2013-03-11", 1],
  ]);
});
