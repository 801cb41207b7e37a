import { expect, test } from "vitest";
import { cardOf, HEAD_HEIGHT, ROW_HEIGHT, ROWS_FOLDED, rowAnchor } from "./card-size.ts";
import type { GraphNode } from "./model.ts";

const wide: GraphNode = {
  id: "dataset:f:wide",
  kind: "dataset",
  label: "wide",
  detail: "",
  title: "",
  fields: Array.from({ length: 30 }, (_, i) => ({ name: `c${i}`, type: null, tags: [] })),
  tags: [],
  state: null,
  tint: null,
  note: null,
  folded: 0,
  hop: 0,
  hiddenUpstream: 0,
  hiddenDownstream: 0,
};

test("a folded card keeps the columns with lineage, in the order of the schema", () => {
  const card = cardOf(wide, true, false, new Set(["c29", "c20"]));
  expect(card.rows).toHaveLength(ROWS_FOLDED);
  expect(card.rows.slice(-2)).toEqual([20, 29]);
  expect(card.folded).toBe(18);
});

test("an expanded card shows every column", () => {
  expect(cardOf(wide, true, true, undefined).rows).toHaveLength(30);
});

test("without the columns switch a card is its head", () => {
  expect(cardOf(wide, false, true, undefined).height).toBe(HEAD_HEIGHT);
});

test("edges end at the row, at the row of the folded ones, or at the head", () => {
  const card = cardOf(wide, true, false, undefined);
  expect(rowAnchor(card, wide, "c1") - rowAnchor(card, wide, "c0")).toBe(ROW_HEIGHT);
  expect(rowAnchor(card, wide, "c29")).toBe(rowAnchor(card, wide, "c11") + ROW_HEIGHT);
  expect(rowAnchor(card, wide, null)).toBe(HEAD_HEIGHT / 2);
  expect(rowAnchor(card, wide, "unknown")).toBe(HEAD_HEIGHT / 2);
});
