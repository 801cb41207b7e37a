import { expect, test } from "vitest";
import type { Graph, GraphNode } from "../graph/model.ts";
import { found } from "./search.ts";

function node(id: string, ...fields: string[]): GraphNode {
  return {
    id,
    kind: "dataset",
    label: id.split(".").at(-1)!,
    detail: "",
    title: id,
    fields: fields.map((name) => ({ name, type: null, tags: [] })),
    tags: [],
    state: null,
    tint: null,
    note: null,
    folded: 0,
    hop: 0,
    hiddenUpstream: 0,
    hiddenDownstream: 0,
  };
}

const graph: Graph = {
  root: "raw.orders",
  nodes: [node("raw.orders", "id", "amount"), node("mart.orders_daily", "day", "orders"), node("mart.days", "day")],
  edges: [],
  links: [],
};

test("tables come before columns, the exact name first", () => {
  expect(found(graph, " Orders ").map((hit) => [hit.title, hit.field])).toEqual([
    ["raw.orders", null],
    ["mart.orders_daily", null],
    ["mart.orders_daily", "orders"],
  ]);
});

test("nothing is found by nothing", () => {
  expect(found(graph, "  ")).toEqual([]);
  expect(found(graph, "xyz")).toEqual([]);
});
