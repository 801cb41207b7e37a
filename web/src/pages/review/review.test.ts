import { expect, test } from "vitest";
import { changeOf, pack, questionOf, readReview, type Review, summaryOf, unpack } from "./review.ts";

const REVIEW: Review = {
  severity: "breaks",
  changes: [
    { action: "rename_column", table: "shop.orders", column: "amount", to: "värde", place: "models/orders.sql" },
  ],
  affected: [
    {
      place: "queries/1.sql",
      line: 3,
      table: "",
      severity: "breaks",
      reason: "amount is not found",
      columns: [],
      certain: true,
      edited: false,
      path: ["shop.orders"],
    },
  ],
  same: [],
  texts: 9,
  problems: [],
  fails: 1,
  policies: [
    {
      policy: "no pii in marketing",
      place: "models/m.sql",
      line: 2,
      table: "m.x",
      column: "mail",
      path: ["raw.u#mail", "m.x#mail"],
    },
  ],
};

test("a review comes back from an address as it went in", async () => {
  const address = await pack(JSON.stringify(REVIEW));
  expect(address).toMatch(/^[\w-]+$/);
  expect(readReview(await unpack(address))).toEqual(REVIEW);
  await expect(unpack(address.slice(0, -9))).rejects.toThrow("may have been cut");
});

test.each(["", "[]", "null", '{"texts": 1}', JSON.stringify({ ...REVIEW, affected: [{ place: 1 }] })])(
  "what is no review is refused: %s",
  (text) => expect(() => readReview(text)).toThrow("headwater review --json"),
);

test("what an earlier review does not have is empty", () => {
  const earlier = { ...REVIEW, problems: undefined, fails: undefined, policies: undefined };
  expect(readReview(JSON.stringify(earlier))).toEqual({ ...REVIEW, fails: 0, policies: [] });
  expect(() => readReview(JSON.stringify({ ...REVIEW, policies: [{ policy: "a" }] }))).toThrow("policies");
  expect(() => readReview(JSON.stringify({ ...REVIEW, noticed: {} }))).toThrow("noticed");
});

test("its words", () => {
  expect(summaryOf(REVIEW)).toBe("1 would break, 0 would hold other values, of 9 texts.");
  const may = { ...REVIEW.affected[0]!, severity: "may_change" as const };
  expect(summaryOf({ ...REVIEW, affected: [...REVIEW.affected, may] })).toBe(
    "1 would break, 0 would hold other values, 1 may on other data, of 9 texts.",
  );
  expect(summaryOf({ ...REVIEW, texts: 1234 })).toContain("of 1,234 texts");
  expect(summaryOf({ ...REVIEW, severity: null, affected: [], same: ["a"] })).toContain("comments or layout only");
  expect(changeOf(REVIEW.changes[0]!)).toBe("rename column shop.orders.amount to värde");
  expect(questionOf(REVIEW.changes[0]!)).toEqual({ do: "rename", of: "shop.orders.amount", to: "värde" });
  expect(questionOf({ ...REVIEW.changes[0]!, action: "create_table" })).toBeNull();
});
