import { expect, test } from "vitest";
import { KEYS, mistakesIn, select, type SelectableNode, termsOf } from "./selection.ts";

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

test("by platform, origin and time", () => {
  const now = Date.parse("2026-11-20T12:00:00Z");
  const at = (id: string, namespace: string, seenAt: string | null) =>
    ({ ...node(id, "dataset"), namespace, seenAt, owners: [] }) as unknown as SelectableNode;
  const own = [
    at("lake", "s3://lake", "2026-11-20T06:00:00Z"),
    at("db", "postgres://db:5432", "2026-11-13T12:00:00Z"),
    at("never", "file", null),
  ];
  const flows = [
    { source: "lake", target: "db", declared: true, origins: ["PARSED_SQL", "OBSERVED"], change: null },
    { source: "db", target: "never", declared: true, origins: ["MANUAL"], change: null },
  ];
  const sought = (text: string) => [...(select(text, own, flows, now) ?? ["all"])];
  expect(sought("platform:s3")).toEqual(["lake"]);
  expect(sought("platform:postgres")).toEqual(["db"]);
  expect(sought("origin:parsed_sql")).toEqual(["lake", "db"]);
  expect(sought("origin:manual -origin:observed")).toEqual(["never"]);
  expect(sought("after:1d")).toEqual(["lake"]);
  expect(sought("after:7d")).toEqual(["lake", "db"]);
  expect(sought("before:2026-11-20")).toEqual(["db"]);
  expect(sought("after:2026-11-13T12:00")).toEqual(["lake", "db"]);
  expect(sought("after:2026-11-13T14:30+02:00")).toEqual(["lake"]);
  // Of what was never seen no time is known: it is neither after nor before.
  expect(sought("before:2030-01-01 -after:1w")).toEqual([]);
});

test("a word that can hold for nothing is named", () => {
  expect(mistakesIn("after:soon type:table origin:guess before:7d orders")).toHaveLength(3);
  expect(mistakesIn(Object.values(KEYS).join(" "))).toEqual([]);
  // A name may hold a colon.
  expect(termsOf("kafka:orders")).toMatchObject([{ key: "name", text: "kafka:orders" }]);
  expect(termsOf(Object.values(KEYS).join(" ")).map((term) => term.key)).toEqual(Object.keys(KEYS));
});
