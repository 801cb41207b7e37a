// A lens: one colour scale over the graph, and its legend. Colours come with words, on the card and in the legend.
import type { LineageNode } from "../../api/types.ts";
import { count, percent } from "../../format.ts";
import type { Lens } from "../../search-params.ts";

export interface Tinted {
  tint: string;
  note: string;
}

export interface LensView {
  of(node: LineageNode): Tinted | null;
  legend: { tint: string; word: string }[];
}

/** Distinct in both themes, and for those who see red and green alike. */
const PALETTE = ["#2f7fd8", "#b98a3e", "#7a5cc4", "#1b8a9b", "#c2567a", "#5f8f2f", "#8a6d5c", "#4f6f8f"];
export const TONES = { good: "#2f9e62", warn: "#c98a1b", bad: "#d03d3d", none: "#8b9a95" } as const;

const FRESH: Record<string, Tinted> = {
  on_time: { tint: TONES.good, note: "on time" },
  late: { tint: TONES.warn, note: "late" },
  very_late: { tint: TONES.bad, note: "very late" },
  unknown: { tint: TONES.none, note: "no rhythm known" },
};

const RUN: Record<string, Tinted> = {
  COMPLETED: { tint: TONES.good, note: "completed" },
  FAILED: { tint: TONES.bad, note: "failed" },
  ABORTED: { tint: TONES.warn, note: "aborted" },
  RUNNING: { tint: PALETTE[0], note: "running" },
};

export interface LensData {
  freshness?: ReadonlyMap<string, string>;
  reads?: ReadonlyMap<string, number>;
  changes?: ReadonlyMap<string, "added" | "gone" | "changed">;
}

export function lensView(lens: Lens | undefined, nodes: readonly LineageNode[], data: LensData): LensView | null {
  switch (lens) {
    case "state":
      return {
        of: (node) => (node.type === "JOB" && node.last_run ? (RUN[node.last_run.state] ?? null) : null),
        legend: Object.values(RUN).map(({ tint, note }) => ({ tint, word: note })),
      };
    case "freshness":
      return {
        of: (node) => (node.type === "DATASET" ? (FRESH[data.freshness?.get(node.id) ?? "unknown"] ?? null) : null),
        legend: Object.values(FRESH).map(({ tint, note }) => ({ tint, word: note })),
      };
    case "usage":
      return usage(data.reads ?? new Map());
    case "tag":
      return groups(nodes, (node) => node.tags[0] ?? null, "no tag");
    case "namespace":
      return groups(nodes, (node) => node.namespace, "no namespace");
    case "changed":
      return {
        of: (node) => {
          const change = data.changes?.get(node.id);
          if (change === "added") return { tint: TONES.good, note: "added" };
          if (change === "gone") return { tint: TONES.bad, note: "gone" };
          if (change === "changed") return { tint: TONES.warn, note: "changed" };
          return { tint: TONES.none, note: "same" };
        },
        legend: [
          { tint: TONES.good, word: "added" },
          { tint: TONES.bad, word: "gone" },
          { tint: TONES.warn, word: "changed" },
          { tint: TONES.none, word: "same" },
        ],
      };
    default:
      return null;
  }
}

function usage(reads: ReadonlyMap<string, number>): LensView {
  const most = Math.max(...reads.values(), 1);
  const steps = ["#8b9a95", "#8fc3cd", "#4fa9b8", "#0b7285"];
  const step = (n: number) => (n === 0 ? 0 : 1 + Math.min(Math.floor((Math.log1p(n) / Math.log1p(most)) * 3), 2));
  return {
    of: (node) => {
      if (node.type !== "DATASET") return null;
      const n = reads.get(node.id);
      return n === undefined
        ? { tint: TONES.none, note: "reads not measured" }
        : { tint: steps[step(n)], note: `${count(n)} reads (${percent(n / most)} of the most)` };
    },
    legend: [
      { tint: steps[0], word: "not read, or not measured" },
      { tint: steps[1], word: "few reads" },
      { tint: steps[2], word: "some" },
      { tint: steps[3], word: "many" },
    ],
  };
}

function groups(nodes: readonly LineageNode[], of: (node: LineageNode) => string | null, none: string): LensView {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const key = of(node);
    if (key) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const most = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, PALETTE.length);
  const tints = new Map(most.map(([key], i) => [key, PALETTE[i]]));
  return {
    of: (node) => {
      const key = of(node);
      return { tint: (key && tints.get(key)) || TONES.none, note: key ?? none };
    },
    legend: [
      ...most.map(([word, n]) => ({ tint: tints.get(word)!, word: `${word} (${n})` })),
      { tint: TONES.none, word: most.length < counts.size ? `${counts.size - most.length} others, or ${none}` : none },
    ],
  };
}
