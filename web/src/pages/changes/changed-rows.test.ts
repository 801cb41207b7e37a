import { expect, test } from "vitest";
import { changedRows, pageOf } from "./changed-rows.ts";

test("what went stands before what appeared, each with its change", () => {
  expect(changedRows([{ id: "a" }], [{ id: "b" }, { id: "c" }]).map(({ id, change }) => `${id} ${change}`)).toEqual([
    "b went",
    "c went",
    "a appeared",
  ]);
});

test("pages of a hundred hold every row once", () => {
  const rows = Array.from({ length: 250 }, (_, i) => i);
  expect([pageOf(rows), pageOf(rows, 2), pageOf(rows, 3), pageOf(rows, 4)].map((page) => page.length)).toEqual([
    100, 100, 50, 0,
  ]);
  expect([1, 2, 3].flatMap((page) => pageOf(rows, page))).toEqual(rows);
});
