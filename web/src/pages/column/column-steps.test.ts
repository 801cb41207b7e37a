import { expect, test } from "vitest";
import type { LineageAnswer } from "../../api/types.ts";
import { columnSteps, howOf } from "./column-steps.ts";

const edge = (source: string, source_field: string | null, target: string, target_field: string | null, subtype = "IDENTITY") => ({
  source, source_field, target, target_field, job: "job:n:j", origin: "COLUMN_LINEAGE",
  transformations: [{ type: "DIRECT", subtype, masking: false, description: null }],
}); // prettier-ignore

test("both ways, nearest first, each edge once", () => {
  const answer = {
    column_edges: [
      edge("a", "x", "b", "y"),
      edge("b", "y", "c", "z", "AGGREGATION"),
      edge("b", "y", "d", null, "FILTER"),
      edge("a", "other", "b", "q"),
      edge("c", "z", "a", "x"),
    ],
  } as unknown as LineageAnswer;
  const { upstream, downstream } = columnSteps(answer, { node: "b", field: "y" });
  expect(downstream.map((step) => [step.target, step.targetField, step.how, step.distance])).toEqual([
    ["c", "z", "aggregated from it", 1],
    ["d", null, "filtered by it", 1],
    ["a", "x", "copied as it is", 2],
    ["b", "y", "copied as it is", 3],
  ]);
  expect(upstream.map((step) => step.source)).toEqual(["a", "c", "b"]);
});

test("in words", () => {
  expect(howOf([{ type: "DIRECT", subtype: "TRANSFORMATION", masking: true, description: "md5" }])).toBe(
    "computed from it, masked (md5)",
  );
  expect(howOf([{ type: "INDIRECT", subtype: null, masking: false, description: null }])).toBe("influenced by it");
});
