import fc from "fast-check";
import { expect, test } from "vitest";
import * as search from "./search-params.ts";

test("what is written is read again", () => {
  const text = fc.string({ minLength: 1 });
  const state = fc.record(
    { q: text, namespace: text, without: fc.array(text, { minLength: 2, maxLength: 4 }), stalled: fc.constant("true") },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(state, (values) => {
      expect(search.parse(search.stringify(values).slice(1))).toEqual(values);
    }),
  );
});

test("an address can be read", () => {
  expect(search.stringify({ selected: "dataset:file:/data/a", depth: 3, columns: true, field: undefined })).toBe(
    "?selected=dataset:file:/data/a&depth=3&columns=true",
  );
});

test("values out of range are brought into it, nonsense is left out", () => {
  const found = search.lineage({ depth: "999", direction: "sideways", columns: "yes", since: "yesterday", nodes: "0" });
  expect(found).toMatchObject({ depth: 100, direction: undefined, columns: undefined, since: undefined, nodes: 1 });
  expect(search.everywhere({ asOf: "not a time", theme: "pink" })).toMatchObject({ asOf: undefined, theme: undefined });
});
