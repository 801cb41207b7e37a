// Every state has its colour and its word, in the drawing as in the legend.
import { describe, expect, test } from "vitest";
import type { LineageNode } from "../../api/types.ts";
import { lookOf } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
import { lensView } from "./lenses.ts";

const job = (run: object) =>
  ({
    type: "JOB",
    id: "job:a:b",
    tags: [],
    last_run: { state: "RUNNING", stalled: false, lost: false, ...run },
  }) as never;
const dataset = (id: string) => ({ type: "DATASET", id, tags: [], fields: [] }) as unknown as LineageNode;

describe("runs", () => {
  test.each([
    [{}, "running"],
    [{ stalled: true }, "stalled"],
    [{ stalled: true, lost: true }, "lost"],
    [{ state: "FAILED" }, "failed"],
    [{ state: "COMPLETED" }, "completed"],
  ])("%o is %s, in the legend too", (run, word) => {
    const lens = lensView("state", [], {})!;
    expect(lens.of(job(run))?.note).toBe(word);
    expect(lens.legend.map((one) => one.word)).toContain(word);
    expect(lookOf(word).word).toBe(word);
  });

  test("a run whose child is lost is not lost itself, but shows what its children came to", () => {
    expect(runState({ state: "RUNNING", effective_state: "FAILED", stalled: false, lost: false })).toBe("FAILED");
  });
});

test.each(["wrong", "failed", "doubted", "late", "stalled"])("what is %s has a tint of its own", (kind) => {
  const lens = lensView("incidents", [], { troubles: new Map([["dataset:a:b", { kind, incident: "job:a:c" }]]) })!;
  const tinted = lens.of(dataset("dataset:a:b"))!;
  expect(tinted.note).toBe(kind);
  expect(lens.legend.filter((one) => one.tint === tinted.tint).map((one) => one.word)).toEqual([kind]);
  expect(lens.of(dataset("dataset:a:c"))?.note).toBe("no open incident");
});

test("validity: by the instances of what a dataset holds, the worst of several", () => {
  const entities = [
    {
      entity: "reads",
      period: "hour, UTC",
      latest: "2026-11-20T06",
      wrong: 0,
      homes: [{ dataset: "dataset:a:reads" }],
    },
    { entity: "days", period: "day, UTC", latest: "2026-11-19", wrong: 3, homes: [{ dataset: "dataset:a:days" }] },
    {
      entity: "later",
      period: "day, UTC",
      latest: null,
      wrong: 0,
      homes: [{ dataset: "dataset:a:reads" }, { dataset: "dataset:a:later" }],
    },
    {
      entity: "old",
      period: "month, UTC",
      latest: "2026-10",
      wrong: 0,
      homes: [{ dataset: "dataset:a:days" }, { dataset: "dataset:a:old" }],
    },
    { entity: "static", period: null, latest: null, wrong: 0, homes: [{ dataset: "dataset:a:static" }] },
  ];
  const lens = lensView("validity", [], { entities })!;
  const words = ["days", "reads", "old", "static", "other"].map((name) => lens.of(dataset(`dataset:a:${name}`))?.note);
  expect(words).toEqual(["3 wrong instances", "no instance yet", "valid to 2026-10", "no schedule", "no schedule"]);
  expect(lens.of(job({}))).toBeNull();
});

test("perspectives: who reports a node's edges; what was not looked up is not said to be in none", () => {
  const of = new Map([
    ["dataset:a:orders", "dbt, query-log"],
    ["job:a:b", "dbt"],
  ]);
  const nodes = [dataset("dataset:a:orders"), job({}), dataset("dataset:a:other")] as LineageNode[];
  const words = (cut: boolean) =>
    nodes.map((one) => lensView("perspective", nodes, { perspectives: { of, cut } })!.of(one)?.note);
  expect(words(false)).toEqual(["dbt, query-log", "dbt", "in no edge"]);
  expect(words(true)[2]).toBe("not among the edges looked up");
});
