import { expect, test } from "vitest";
import type { LineageAnswer } from "../../api/types.ts";
import { foldJobs } from "./fold.ts";

const data = (id: string) => ({ id, type: "DATASET", namespace: "n", name: id, label: id }) as never;
const job = (id: string, parent: string | null, state = "COMPLETED") =>
  ({
    id, type: "JOB", namespace: "n", name: id.slice(6), label: id.slice(6), parent, hop: 1, tags: [],
    hidden_upstream: 0, hidden_downstream: 1, last_run: { state },
  }) as never; // prettier-ignore
const edge = (source: string, target: string) => ({
  source,
  target,
  origin: "OBSERVED",
  first_seen: "1",
  last_seen: "1",
});

const answer = {
  root: "dataset:n:a",
  nodes: [
    data("dataset:n:a"),
    job("job:n:p.x", "job:n:p"),
    job("job:n:p.y", "job:n:p", "FAILED"),
    data("dataset:n:b"),
    data("dataset:n:c"),
    job("job:n:q.z", "job:n:q"),
  ],
  edges: [
    edge("dataset:n:a", "job:n:p.x"),
    edge("dataset:n:a", "job:n:p.y"),
    edge("job:n:p.x", "dataset:n:b"),
    edge("job:n:p.y", "dataset:n:c"),
    edge("dataset:n:c", "job:n:q.z"),
  ],
  column_edges: [],
} as unknown as LineageAnswer;

test("a parent of several stands for them, with their edges and the worst state", () => {
  const folded = foldJobs(answer, new Set(), false);
  expect(folded.nodes.map((node) => node.id)).toEqual([
    "dataset:n:a",
    "dataset:n:b",
    "dataset:n:c",
    "job:n:q.z",
    "job:n:p",
  ]);
  expect(folded.edges.map((one) => `${one.source} ${one.target}`)).toEqual([
    "dataset:n:a job:n:p",
    "job:n:p dataset:n:b",
    "job:n:p dataset:n:c",
    "dataset:n:c job:n:q.z",
  ]);
  const parent = folded.nodes.at(-1)!;
  expect(parent).toMatchObject({ label: "p", hidden_downstream: 2, last_run: { state: "FAILED" } });
  expect(folded.inside).toEqual(new Map([["job:n:p", ["job:n:p.x", "job:n:p.y"]]]));
});

test("opened, its children stand alone", () => {
  const folded = foldJobs(answer, new Set(["job:n:p"]), false);
  expect(folded.nodes).toHaveLength(6);
  expect(folded.edges).toEqual(answer.edges);
  expect(folded.opened).toEqual(["job:n:p"]);
});

test("a parent that is the start stands among its children's lineage", () => {
  const rooted = { ...answer, root: "job:n:q", nodes: [...answer.nodes, job("job:n:q", null)] } as LineageAnswer;
  const folded = foldJobs(rooted, new Set(), false);
  expect(folded.edges.at(-1)).toMatchObject({ source: "dataset:n:c", target: "job:n:q" });
});

test("a folded edge is of some runs only if each that it stands for is", () => {
  const shown = (...seen: boolean[]) => {
    const edges = [edge("dataset:n:a", "job:n:p.x"), edge("dataset:n:a", "job:n:p.y")];
    const some = edges.map((one, n) => ({ ...one, intermittent: seen[n] }));
    const folded = foldJobs({ ...answer, edges: some } as unknown as LineageAnswer, new Set(), false);
    return folded.edges.map((one) => one.intermittent);
  };
  expect(shown(true, true)).toEqual([true]);
  expect(shown(true, false)).toEqual([false]);
});

test("what each of its children is tagged with, a parent that the answer does not hold is", () => {
  const nodes = answer.nodes.map((node) =>
    node.id.includes(":p.") ? { ...node, tags: ["team:mart", node.id] } : node,
  );
  const folded = foldJobs({ ...answer, nodes } as LineageAnswer, new Set(), false);
  expect(folded.nodes.at(-1)!.tags).toEqual(["team:mart"]);
});
