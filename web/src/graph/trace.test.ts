import { describe, expect, test } from "vitest";
import type { ColumnLink, Graph } from "./model.ts";
import { trace } from "./trace.ts";

function graph(edges: [string, string][]): Graph {
  const ids = [...new Set(edges.flat())];
  return {
    root: ids[0],
    nodes: ids.map((id) => ({
      id,
      kind: id.startsWith("j") ? "job" : "dataset",
      label: id,
      detail: "",
      title: id,
      fields: [],
      tags: [],
      state: null,
      tint: null,
      note: null,
      folded: 0,
      hop: 0,
      hiddenUpstream: 0,
      hiddenDownstream: 0,
    })),
    edges: edges.map(([source, target]) => ({ source, target, declared: false, change: null })),
    links: [],
  };
}

/** "a.x > j > b.y"; `*` is the whole dataset; "a.x > j" ends in the job. */
function links(...lines: string[]): ColumnLink[] {
  return lines.map((line) => {
    const parts = line.split(" > ");
    const [source, sourceField] = parts[0].split(".");
    const [target, targetField] = parts.at(-1)!.split(".");
    const field = (name: string | undefined) => (name === undefined || name === "*" ? null : name);
    return {
      source,
      sourceField: field(sourceField),
      target,
      targetField: field(targetField),
      job: parts[1],
      indirect: false,
    };
  });
}

const found = (t: ReturnType<typeof trace>) =>
  [...t.fields].flatMap(([node, fields]) => (fields.size ? [...fields].map((f) => `${node}.${f}`) : [node])).sort();

describe("trace", () => {
  const chain = graph([
    ["a", "j1"],
    ["j1", "b"],
    ["b", "j2"],
    ["j2", "c"],
  ]);

  test("goes all the way in both directions and marks the jobs between", () => {
    const l = links("a.x > j1 > b.y", "a.other > j1 > b.z", "b.y > j2 > c.w", "b.z > j2 > c.v");
    const t = trace(chain, l, { node: "b", field: "y" });
    expect(found(t)).toEqual(["a.x", "b.y", "c.w", "j1", "j2"]);
    expect([...t.links].sort()).toEqual([0, 2]);
  });

  test("does not turn around: a sibling of the same source is not on the path", () => {
    const l = links("a.x > j1 > b.y", "a.x > j1 > b.z");
    expect(found(trace(chain, l, { node: "b", field: "y" }))).toEqual(["a.x", "b.y", "j1"]);
  });

  test("what the whole dataset depends on, each of its columns depends on", () => {
    const l = links("a.filter > j1 > b.*", "b.y > j2 > c.w");
    expect(found(trace(chain, l, { node: "c", field: "w" }))).toEqual(["a.filter", "b.y", "c.w", "j1", "j2"]);
    expect(found(trace(chain, l, { node: "a", field: "filter" }))).toEqual(["a.filter", "b", "c.w", "j1", "j2"].sort());
  });

  test("columns that end in a job reach what it wrote without columns", () => {
    const report = graph([
      ["a", "j1"],
      ["j1", "report"],
    ]);
    const l = links("a.x > j1 > j1");
    const t = trace(report, l, { node: "a", field: "x" });
    expect(found(t)).toEqual(["a.x", "j1", "report"]);
    expect([...t.edges]).toEqual([1]);
  });

  test("a cycle ends", () => {
    const loop = graph([
      ["a", "j1"],
      ["j1", "a"],
    ]);
    expect(found(trace(loop, links("a.x > j1 > a.x"), { node: "a", field: "x" }))).toEqual(["a.x", "j1"]);
  });
});
