// What is below the parents that are opened in a list: asked for when they are.
import { useQueries } from "@tanstack/react-query";
import { question } from "../../api/queries.ts";
import type { JobNode, Run } from "../../api/types.ts";
import type { Level } from "../../parts/tree-rows.ts";

/** The most children of one parent that are listed below it; the list of its children alone has pages. */
const MOST_CHILDREN = 500;

export function useJobChildren(open: readonly string[]): ReadonlyMap<string, Level<JobNode>> {
  return useQueries({
    queries: open.map((parent) => question("/api/v2/jobs", { query: { parent, sort: "name", limit: MOST_CHILDREN } })),
    combine: (answers) =>
      new Map(
        answers.flatMap(({ data }, i) =>
          data
            ? [[open[i], { rows: data.jobs as JobNode[], children: data.children ?? {}, total: data.total }] as const]
            : [],
        ),
      ),
  });
}

export function useRunChildren(open: readonly string[]): ReadonlyMap<string, Level<Run>> {
  return useQueries({
    queries: open.map((parent) => question("/api/v2/runs", { query: { parent, limit: MOST_CHILDREN } })),
    combine: (answers) =>
      new Map(
        answers.flatMap(({ data }, i) =>
          data ? [[open[i], { rows: data.runs, children: data.children ?? {}, total: data.total }] as const] : [],
        ),
      ),
  });
}
