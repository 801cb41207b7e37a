import { expect, test } from "vitest";
import { type Cell, cellsOf, countStates, gridOf, rangeOf, within } from "./cells.ts";

const stretch = (instances: string, status: string, valid = true) => ({ instances, status, valid });
const named = (instances: readonly string[], start: string | null = null) =>
  instances.map((instance) => ({ instance, start }));
const cell = (instance: string, state = "valid", start: string | null = null): Cell => ({ instance, start, state });
const two = (n: number) => String(n).padStart(2, "0");

test("cells have the state of their stretch; completed and not valid is doubted; what none tells is missing", () => {
  const cells = cellsOf(named(["2024-03-01", "2024-03-02", "2024-03-03", "2024-03-04"]), [
    stretch("2024-03-01", "completed"),
    stretch("2024-03-02", "completed", false),
    stretch("2024-03-03", "wrong"),
  ]);
  expect(cells.map(({ state }) => state)).toEqual(["valid", "doubted", "wrong", "missing"]);
  expect(rangeOf(cells, "2024-03-03", "2024-03-01")).toBe("2024-03-01..2024-03-03");
});

test("a stretch across the end of summer time colours each hour once, though its text is smaller than the one before", () => {
  const hours = named(["2025-10-26T01+02:00", "2025-10-26T02+02:00", "2025-10-26T02+01:00", "2025-10-26T03+01:00"]);
  const cells = cellsOf(hours, [
    stretch("2025-10-26T01+02:00", "completed"),
    stretch("2025-10-26T02+02:00..2025-10-26T02+01:00", "wrong"),
    stretch("2025-10-26T03+01:00", "completed"),
  ]);
  expect(cells.map(({ state }) => state)).toEqual(["valid", "wrong", "wrong", "valid"]);
  expect([...within(cells, "2025-10-26T02+02:00..2025-10-26T02+01:00")]).toHaveLength(2);
});

test("a stretch past the periods that were asked for colours none of them", () => {
  const cells = cellsOf(named(["2024-01", "2024-02"]), [
    stretch("2024-01..2024-06", "completed"),
    stretch("2024-07..2024-12", "wrong"),
  ]);
  expect(cells.map(({ state }) => state)).toEqual(["valid", "valid"]);
});

test("hours stand under their own hour: a day of 23 has a gap, a day of 25 two parts in one square", () => {
  const day = (date: string, hours: readonly string[]) => hours.map((hour) => cell(`${date}T${hour}`));
  const hours = Array.from({ length: 24 }, (_, hour) => two(hour));
  const spring = hours.filter((hour) => hour !== "02");
  const autumn = [...hours.slice(0, 3), "02+01:00", ...hours.slice(3)];
  const { columns, rows } = gridOf(
    [...day("2025-03-29", hours), ...day("2025-03-30", spring), ...day("2025-10-26", autumn)],
    "month",
  );
  expect(columns.map(({ label }) => label)).toEqual(hours);
  expect(rows.map((row) => [row.label, row.slots.length])).toEqual([
    ["Sat 2025-03-29", 24],
    ["Sun 2025-03-30", 23],
    ["Sun 2025-10-26", 24],
  ]);
  expect(rows[1].slots.some(({ column }) => column === 2)).toBe(false);
  expect(rows[2].slots[2].cells).toHaveLength(2);
});

test("days stand in weeks of a month, and in months of a year", () => {
  const days = ["2013-03-09", "2013-03-10", "2013-03-11"].map((day) => cell(day));
  expect(gridOf(days, "month").rows.map((row) => [row.label, row.slots.map(({ column }) => column)])).toEqual([
    ["week of 2013-03-04", [5, 6]],
    ["week of 2013-03-11", [0]],
  ]);
  const year = gridOf(days, "year");
  expect(year.rows.map((row) => [row.label, row.closer])).toEqual([["Mar 2013", "2013-03"]]);
  expect(year.columns.map(({ label }) => label)).toEqual(["9", "10", "11"]);
});

test("a square of many parts shows the worst of their states, and counts each", () => {
  const states = ["valid", "missing", "wrong", "valid"];
  const hours = states.map((state, hour) => cell(`2024-03-06T${two(hour)}`, state));
  const [row] = gridOf(hours, "year").rows;
  expect(row.slots).toHaveLength(1);
  expect(row.slots[0].state).toBe("wrong");
  expect(countStates(row.slots[0].cells)).toEqual([
    ["wrong", 1],
    ["missing", 1],
    ["valid", 2],
  ]);
});

test("weeks, months and quarters of ten years have a column each", () => {
  const grid = gridOf(
    [cell("2024-W10", "valid", "2024-03-04T00:00:00Z"), cell("2025-W01", "valid", "2024-12-30T00:00:00Z")],
    "decade",
  );
  expect(grid.rows.map((row) => [row.label, row.slots[0].column])).toEqual([
    ["2024", 10],
    ["2025", 1],
  ]);
  expect(gridOf([cell("2024-Q2", "valid", "2024-04-01T00:00:00Z")], "decade").columns[0].label).toBe("Q2");
  expect(gridOf([cell("2024-11")], "decade").columns[0].label).toBe("Nov");
});

test("what is made as a whole is one square", () => {
  expect(gridOf([cell("*")], "month")).toEqual({
    columns: [{ column: 0, label: "" }],
    rows: [{ label: "", closer: null, slots: [{ column: 0, cells: [cell("*")], state: "valid" }] }],
  });
});
