import { expect, test } from "vitest";
import { select, type SelectableNode } from "./selection.ts";

const node = (id: string, kind: "dataset" | "job", tags: string[] = []) =>
  ({ id, kind, label: id, title: `file ${id}`, tags, fields: [], state: kind === "job" ? "FAILED" : null, namespace: "file" }) as unknown as SelectableNode; // prettier-ignore
const nodes = [
  node("raw", "dataset", ["PII"]),
  node("clean", "job"),
  node("orders", "dataset"),
  node("mart", "job"),
  node("report", "dataset"),
];
const edges = nodes.slice(1).map((to, i) => ({ source: nodes[i].id, target: to.id, declared: false, change: null }));
const found = (text: string) => [...(select(text, nodes, edges) ?? ["all"])];

test("selectors", () => {
  expect(found("")).toEqual(["all"]);
  expect(found("orders")).toEqual(["orders"]);
  expect(found("tag:pii")).toEqual(["raw"]);
  expect(found("type:job state:failed")).toEqual(["clean", "mart"]);
  expect(found("-type:job")).toEqual(["raw", "orders", "report"]);
  expect(found("+orders")).toEqual(["raw", "clean", "orders"]);
  expect(found("1+orders")).toEqual(["clean", "orders"]);
  expect(found("orders+1")).toEqual(["orders", "mart"]);
  expect(found("+orders+ -type:job")).toEqual(["raw", "orders", "report"]);
  expect(found("nothing")).toEqual([]);
});
