import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BLANK, format, MAX_DEPTH, parse, type UrlState } from "./url.ts";

const name = fc.option(fc.string({ unit: "grapheme", minLength: 1, maxLength: 1000 }), { nil: null });
const state: fc.Arbitrary<UrlState> = fc.record({
  node: name,
  depth: fc.integer({ min: 0, max: MAX_DEPTH }),
  direction: fc.constantFrom("both", "upstream", "downstream"),
  columns: fc.boolean(),
  indirect: fc.boolean(),
  selected: name,
  field: name,
  tab: name,
  run: name,
  asOf: fc.constantFrom(null, "2026-11-21T03:00:00Z"),
  theme: fc.constantFrom(null, "light", "dark"),
  q: fc.string({ unit: "grapheme" }),
});

describe("the address", () => {
  test("brings back every state, whatever the names", () => {
    fc.assert(
      fc.property(state, (s) => {
        expect(parse(format(s))).toEqual(s);
      }),
    );
  });

  test("is empty for the start page", () => {
    expect(format(BLANK)).toBe("");
  });

  test("stays readable", () => {
    expect(format({ ...BLANK, node: "dataset:file:/data/clean/flights", columns: true })).toBe(
      "?node=dataset:file:/data/clean/flights&columns=1",
    );
  });

  test("written by hand and wrong falls back to the defaults", () => {
    expect(parse("?depth=many&direction=sideways&asOf=yesterday&theme=pink&columns=yes")).toEqual(BLANK);
    expect(parse("?depth=100000").depth).toBe(MAX_DEPTH);
  });
});
