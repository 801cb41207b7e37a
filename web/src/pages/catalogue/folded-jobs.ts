// Packages and DAGs in a list: a parent stands for its jobs, which are asked for when it is opened.
import { useQueries } from "@tanstack/react-query";
import { question } from "../../api/queries.ts";
import type { JobNode } from "../../api/types.ts";

/** A row of the list, and how far it is below the list's own rows. */
export interface JobRow {
  job: JobNode;
  depth: number;
  /** How many jobs are directly below it. */
  children: number;
  isOpen: boolean;
}

interface Level {
  jobs: readonly JobNode[];
  children: Readonly<Record<string, number>>;
}

/** The most children of one parent that are listed; its page lists all. */
export const MOST_CHILDREN = 500;

/** The rows of a page, each open parent followed by its jobs. */
export function withChildren(page: Level, below: ReadonlyMap<string, Level>, depth = 0): JobRow[] {
  return page.jobs.flatMap((job) => {
    const level = below.get(job.id);
    const row = { job, depth, children: page.children[job.id] ?? 0, isOpen: level !== undefined };
    return level ? [row, ...withChildren(level, below, depth + 1)] : [row];
  });
}

export function useChildren(open: readonly string[]): ReadonlyMap<string, Level> {
  return useQueries({
    queries: open.map((parent) => question("/api/v2/jobs", { query: { parent, sort: "name", limit: MOST_CHILDREN } })),
    combine: (answers) =>
      new Map(
        answers.flatMap(({ data }, i) =>
          data ? [[open[i], { jobs: data.jobs as JobNode[], children: data.children }] as const] : [],
        ),
      ),
  });
}
