import { expect, test } from "vitest";
import { foldWithin, type Level, withChildren } from "./tree-rows.ts";

const row = (id: string) => ({ id });
const shown = (rows: ReturnType<typeof withChildren<{ id: string }>>) =>
  rows.map(({ item, depth, children, isOpen }) => [item.id, depth, children, isOpen]);

test("an open parent is followed by its children, at any depth; a closed one stands alone with their number", () => {
  const page = { rows: [row("a"), row("b")], children: { a: 2, b: 1 } };
  const below = new Map<string, Level<{ id: string }>>([
    ["a", { rows: [row("a.1"), row("a.2")], children: { "a.1": 1 } }],
    ["a.1", { rows: [row("a.1.x")], children: {} }],
  ]);
  expect(shown(withChildren(page, below))).toEqual([
    ["a", 0, 2, true],
    ["a.1", 1, 1, true],
    ["a.1.x", 2, 0, false],
    ["a.2", 1, 0, false],
    ["b", 0, 1, false],
  ]);
});

test("an open parent says how many of its children are not listed", () => {
  const below = new Map<string, Level<{ id: string }>>([["a", { rows: [row("a.1")], children: {}, total: 3 }]]);
  const page = { rows: [row("a")], children: { a: 3 } };
  expect(withChildren(page, below).map(({ item, left }) => [item.id, left])).toEqual([
    ["a", 2],
    ["a.1", 0],
  ]);
  expect(withChildren(page, new Map())[0].left).toBe(0);
});

test("a parent that was opened on another page shows nothing here", () => {
  const below = new Map([["elsewhere", { rows: [row("x")], children: {} }]]);
  expect(withChildren({ rows: [row("a")], children: {} }, below)).toHaveLength(1);
});

test("two that are each other's parents end after one round", () => {
  const below = new Map<string, Level<{ id: string }>>([
    ["a", { rows: [row("b")], children: { b: 1 } }],
    ["b", { rows: [row("a")], children: { a: 1 } }],
  ]);
  expect(shown(withChildren({ rows: [row("a")], children: { a: 1 } }, below))).toEqual([
    ["a", 0, 1, true],
    ["b", 1, 1, true],
    ["a", 2, 0, false],
  ]);
});

test("within a list, those whose parent is in it are below that; others stay where they are", () => {
  const rows = [
    { id: "etl.load", parent: "etl" },
    { id: "etl", parent: null },
    { id: "elsewhere.x", parent: "elsewhere" },
    { id: "etl.clean", parent: "etl" },
  ];
  const folded = (open: string[]) => shown(foldWithin(rows, (one) => one.parent, new Set(open)));
  expect(folded([])).toEqual([
    ["etl", 0, 2, false],
    ["elsewhere.x", 0, 0, false],
  ]);
  expect(folded(["etl"])).toEqual([
    ["etl", 0, 2, true],
    ["etl.load", 1, 0, false],
    ["etl.clean", 1, 0, false],
    ["elsewhere.x", 0, 0, false],
  ]);
});
