import { expect, test } from "vitest";
import { foldWays } from "./fold-ways.ts";
import type { Detail } from "./incident-page.tsx";

const node = (id: string, role: string, parent: string | null = null, state: string | null = null) => ({
  id,
  label: id,
  role,
  state,
  since: null,
  owners: [`owner of ${id}`],
  teams: [],
  parent,
});
const edge = (source: string, target: string) => ({ source, target });
const detail = {
  nodes: [
    node("dataset:a", "cause", null, "wrong"),
    node("job:dag.x", "hit", "job:dag", "doubted"),
    node("job:dag.y", "hit", "job:dag", "failed"),
    node("job:alone", "between", "job:other"),
    node("dataset:b", "hit", null, "wrong"),
  ],
  edges: [
    edge("dataset:a", "job:dag.x"),
    edge("dataset:a", "job:dag.y"),
    edge("job:dag.x", "job:dag.y"),
    edge("job:dag.y", "dataset:b"),
    edge("dataset:a", "job:alone"),
  ],
} as unknown as Detail;

test("the jobs of one parent are a card with their number, their edges and the worst of their states", () => {
  const { nodes, edges, opened } = foldWays(detail, new Set());
  expect(nodes.map(({ id, folded, state, role }) => [id, folded, state, role])).toEqual([
    ["dataset:a", 0, "wrong", "cause"],
    ["job:alone", 0, null, "between"],
    ["dataset:b", 0, "wrong", "hit"],
    ["job:dag", 2, "failed", "hit"],
  ]);
  expect(edges).toEqual([edge("dataset:a", "job:dag"), edge("job:dag", "dataset:b"), edge("dataset:a", "job:alone")]);
  expect(opened).toEqual([]);
});

test("an opened parent shows its jobs, and says that it can be folded", () => {
  const { nodes, edges, opened } = foldWays(detail, new Set(["job:dag"]));
  expect(nodes.map(({ id }) => id)).toEqual(detail.nodes.map(({ id }) => id));
  expect(edges).toHaveLength(5);
  expect(opened).toEqual(["job:dag"]);
});

test("the cause is seen even inside a package that is folded", () => {
  const failed = { ...detail, nodes: [node("job:dag.z", "cause", "job:dag", "failed"), ...detail.nodes.slice(1)] };
  expect(foldWays(failed, new Set()).nodes.map(({ id }) => id)).toContain("job:dag.z");
});
