import { expect, test } from "vitest";
import type { LineageAnswer } from "../../api/types.ts";
import { compare } from "./difference.ts";

const data = (id: string, ...fields: string[]) =>
  ({ id, type: "DATASET", fields: fields.map((name) => ({ name, type: "int" })) }) as never;
const graph = (nodes: never[], edges: [string, string][]) =>
  ({
    nodes,
    edges: edges.map(([source, target]) => ({ source, target, origin: "OBSERVED" })),
  }) as unknown as LineageAnswer;

test("the union of two times, and what became of each part", () => {
  const before = graph(
    [data("a", "x"), data("b"), data("c")],
    [
      ["a", "b"],
      ["b", "c"],
    ],
  );
  const after = graph(
    [data("a", "x", "y"), data("b"), data("d")],
    [
      ["a", "b"],
      ["b", "d"],
    ],
  );
  const { union, nodes, edges } = compare(before, after);
  expect(union.nodes.map((node) => node.id)).toEqual(["a", "b", "d", "c"]);
  expect(Object.fromEntries(nodes)).toEqual({ a: "changed", d: "added", c: "gone" });
  expect(Object.fromEntries(edges)).toEqual({ "b\nd": "added", "b\nc": "gone" });
});

test("of a node that was not there before, all is new", () => {
  expect([...compare(null, graph([data("a")], [])).nodes]).toEqual([["a", "added"]]);
});
