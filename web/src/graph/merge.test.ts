import fc from "fast-check";
import { expect, test } from "vitest";
import { keyed, sortKeyed } from "./merge.ts";

test("sorts stably, and counts the pairs that stood the wrong way round", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 120, size: "max" }), (keys) => {
      const all = keyed(keys.length + 1);
      keys.forEach((key, i) => {
        all.key[i] = key;
        all.vertex[i] = i;
      });
      const pairs = keys.flatMap((a, i) => keys.slice(i + 1).filter((b) => b < a)).length;
      expect(sortKeyed(all, keys.length)).toBe(pairs);
      const stable = keys.map((key, i) => [key, i]).sort((a, b) => a[0] - b[0]);
      expect(Array.from(all.vertex.subarray(0, keys.length))).toEqual(stable.map(([, i]) => i));
      expect(Array.from(all.key.subarray(0, keys.length))).toEqual(stable.map(([key]) => key));
    }),
    { numRuns: 300 },
  );
});
