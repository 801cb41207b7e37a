import fc from "fast-check";
import { expect, test } from "vitest";
import { isStale, pause } from "./stale.ts";

test("a change makes the answers stale that depend on it, and no others", () => {
  const stale = new Set(["plans"]);
  expect(isStale(["/api/v2/plans", {}], stale)).toBe(true);
  expect(isStale(["/api/v2/plans/{plan}", {}], stale)).toBe(true);
  expect(isStale(["/api/v2/runs", {}], stale)).toBe(false);
  expect(isStale(["/auth/me", {}], stale)).toBe(false);
  expect(isStale(["reference", "dataset:a:b"], stale)).toBe(false);
});

test("a question that this page's list does not have is asked again at every change", () => {
  expect(isStale(["/api/v2/of-the-future", {}], new Set(["plans"]))).toBe(true);
});

test("the past does not change", () => {
  expect(isStale(["/api/v2/lineage", { query: { as_of: "2026-01-01" } }], new Set(["lineage"]))).toBe(false);
  expect(isStale(["/api/v2/lineage", { query: { as_of: null } }], new Set(["lineage"]))).toBe(true);
});

test("attempts get rarer, up to a minute, and are never at once", () => {
  fc.assert(
    fc.property(fc.nat(2000), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const wait = pause(failures, random);
      expect(wait).toBeGreaterThanOrEqual(500);
      expect(wait).toBeLessThanOrEqual(60_000);
      expect(pause(failures + 2, random)).toBeGreaterThanOrEqual(wait);
    }),
  );
});
