import { expect, test } from "vitest";
import { troublesOf } from "./troubles.ts";

type Incidents = Parameters<typeof troublesOf>[0];
const incident = (kind: string, id: string, hit: { id: string; kind: string }[] = [], cause = id) =>
  ({ kind, id, hit, cause: { id: cause } }) as unknown as Incidents[number];

test("what a dataset is itself counts before what hits it, and each leads to the incident that says so", () => {
  const found = troublesOf([
    incident("failed", "job:a", [{ id: "dataset:b", kind: "late" }]),
    incident("doubted", "dataset:b", [{ id: "dataset:c", kind: "doubted" }]),
    incident("late", "dataset:c", [], "job:a"),
  ]);
  expect(found.get("job:a")).toEqual({ kind: "failed", incident: "job:a" });
  expect(found.get("dataset:b")).toEqual({ kind: "doubted", incident: "dataset:b" });
  expect(found.get("dataset:c")).toEqual({ kind: "late", incident: "dataset:c" });
  expect(found.get("dataset:d")).toBeUndefined();
});

test("what is only hit leads to the incident that hits it", () => {
  const found = troublesOf([incident("failed", "job:a", [{ id: "dataset:b", kind: "late" }])]);
  expect(found.get("dataset:b")).toEqual({ kind: "late", incident: "job:a" });
});
