// The column edges up- and downstream of one column, nearest first, each with its transformation in words. Pure.
import type { LineageAnswer } from "../../api/types.ts";

export interface ColumnStep {
  source: string;
  sourceField: string | null;
  target: string;
  targetField: string | null;
  job: string;
  how: string;
  distance: number;
}

type Edge = LineageAnswer["column_edges"][number];

const WORDS: Record<string, string> = {
  IDENTITY: "copied as it is",
  TRANSFORMATION: "computed from it",
  AGGREGATION: "aggregated from it",
  JOIN: "joined by it",
  GROUP_BY: "grouped by it",
  FILTER: "filtered by it",
  SORT: "sorted by it",
  WINDOW: "by a window over it",
  CONDITIONAL: "chosen by a condition on it",
};

export function howOf(transformations: Edge["transformations"]): string {
  const words = transformations.map(({ type, subtype, masking, description }) => {
    const word =
      (subtype && WORDS[subtype]) ??
      subtype?.toLowerCase().replaceAll("_", " ") ??
      (type === "INDIRECT" ? "influenced by it" : "made from it");
    return `${word}${masking ? ", masked" : ""}${description ? ` (${description})` : ""}`;
  });
  return [...new Set(words)].join("; ") || "made from it";
}

export function columnSteps(answer: Pick<LineageAnswer, "column_edges">, start: { node: string; field: string }) {
  const walk = (near: "source" | "target"): ColumnStep[] => {
    const far = near === "source" ? "target" : "source";
    const steps: ColumnStep[] = [];
    const key = (node: string, field: string | null) => `${node}\n${field ?? ""}`;
    const seen = new Set([key(start.node, start.field)]);
    const taken = new Set<Edge>();
    let border: { node: string; field: string | null }[] = [start];
    for (let distance = 1; border.length > 0; distance++) {
      const next: typeof border = [];
      for (const at of border)
        for (const edge of answer.column_edges) {
          const field = edge[`${near}_field`];
          // A dependency of the whole dataset counts for each of its columns.
          if (edge[near] !== at.node || (field !== at.field && field !== null && at.field !== null) || taken.has(edge))
            continue;
          taken.add(edge);
          steps.push({
            source: edge.source,
            sourceField: edge.source_field,
            target: edge.target,
            targetField: edge.target_field,
            job: edge.job,
            how: howOf(edge.transformations),
            distance,
          });
          const reached = { node: edge[far], field: edge[`${far}_field`] };
          if (!seen.has(key(reached.node, reached.field))) {
            seen.add(key(reached.node, reached.field));
            next.push(reached);
          }
        }
      border = next;
    }
    return steps;
  };
  return { upstream: walk("target"), downstream: walk("source") };
}
