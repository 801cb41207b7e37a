import { expect, test } from "vitest";
import type { JobNode } from "../../api/types.ts";
import { withChildren } from "./folded-jobs.ts";

const job = (id: string) => ({ id }) as JobNode;

test("an open parent is followed by its jobs, at any depth; a closed one stands alone with their number", () => {
  const page = { jobs: [job("a"), job("b")], children: { a: 2, b: 1 } };
  const below = new Map<string, { jobs: JobNode[]; children: Record<string, number> }>([
    ["a", { jobs: [job("a.1"), job("a.2")], children: { "a.1": 1 } }],
    ["a.1", { jobs: [job("a.1.x")], children: {} }],
  ]);
  expect(withChildren(page, below).map((row) => [row.job.id, row.depth, row.children, row.isOpen])).toEqual([
    ["a", 0, 2, true],
    ["a.1", 1, 1, true],
    ["a.1.x", 2, 0, false],
    ["a.2", 1, 0, false],
    ["b", 0, 1, false],
  ]);
});

test("a parent that was opened on another page shows nothing here", () => {
  const below = new Map([["elsewhere", { jobs: [job("x")], children: {} }]]);
  expect(withChildren({ jobs: [job("a")], children: {} }, below)).toHaveLength(1);
});
