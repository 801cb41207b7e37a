import { expect, test } from "vitest";
import type { Graph, GraphEdge, GraphNode } from "./model.ts";
import { isPlacedAlike } from "./places.ts";
import { hasSameLines, planOf } from "./scene.ts";

const node = (id: string, changed: Partial<GraphNode> = {}): GraphNode =>
  ({
    id,
    kind: "dataset",
    word: null,
    label: id,
    title: id,
    detail: "",
    fields: [],
    tags: [],
    note: null,
    ...changed,
  }) as unknown as GraphNode;
const edge = (source: string, target: string, changed: Partial<GraphEdge> = {}): GraphEdge =>
  ({
    source,
    target,
    declared: false,
    origins: [],
    intermittent: false,
    change: null,
    count: 1,
    ...changed,
  }) as GraphEdge;
const graph = (edges: GraphEdge[], nodes = [node("a"), node("b"), node("c")]): Graph => ({
  root: "a",
  nodes,
  edges,
  links: [],
});
const plan = (of: Graph, columns = false) =>
  planOf(of, { columns, indirect: false, expanded: new Set(), aspect: 1, arranged: 0 });
const BOTH = [edge("a", "b"), edge("b", "c")];

test("other notes and colours keep the place of every card, and every line", () => {
  const before = plan(graph(BOTH));
  const tinted = plan(graph([...BOTH], [node("a", { tint: "#fff", note: "late" }), node("b"), node("c")]));
  expect(isPlacedAlike(before, tinted)).toBe(true);
  const layout = {} as never;
  expect(hasSameLines({ ...before, layout }, { ...tinted, layout })).toBe(true);
  expect(hasSameLines({ ...before, layout }, { ...tinted, layout: {} as never })).toBe(false);
});

test.each([
  ["another edge", graph([edge("a", "b"), edge("a", "c")])],
  ["an edge less", graph([edge("a", "b")])],
  ["a node less", graph([edge("a", "b")], [node("a"), node("b")])],
  ["another order", graph(BOTH, [node("b"), node("a"), node("c")])],
  ["another start", { ...graph(BOTH), root: "b" }],
])("%s is placed anew", (_, now) => {
  expect(isPlacedAlike(plan(graph(BOTH)), plan(now))).toBe(false);
});

test.each([
  ["declared", { declared: true }],
  ["intermittent", { intermittent: true }],
  ["added since", { change: "added" as const }],
])("an edge that is %s now is drawn anew where it stands", (_, changed) => {
  const before = plan(graph(BOTH));
  const now = plan(graph([edge("a", "b", changed), BOTH[1]]));
  const layout = {} as never;
  expect(isPlacedAlike(before, now)).toBe(true);
  expect(hasSameLines({ ...before, layout }, { ...now, layout })).toBe(false);
});
