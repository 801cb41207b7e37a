import fc from "fast-check";
import { expect, test } from "vitest";
import { fromPath, toPath } from "./path-names.ts";

test("readable, and back again", () => {
  expect(toPath("file:/data/clean/flights")).toBe("file:~data~clean~flights");
  expect(toPath("s3://a~b")).toBe("s3:~~a!7Eb");
  expect(["..", "a%2Fb?#\\", "!7E"].map(toPath)).toEqual(["!2E!2E", "a!252Fb!3F!23!5C", "!217E"]);
});

test("every name comes back from its segment, which holds no sign of a path", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (name) => {
      expect(fromPath(toPath(name))).toBe(name);
      expect(toPath(name)).not.toMatch(/[/%\\?#]/);
    }),
  );
});
