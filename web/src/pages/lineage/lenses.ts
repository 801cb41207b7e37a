// A lens: one colour scale over the graph, and its legend. Colours come with words, on the card and in the legend.
import type { Troubles } from "../../api/troubles.ts";
import type { LineageNode } from "../../api/types.ts";
import { count, percent, plural } from "../../format.ts";
import { TONES } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
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
  RUNNING: { tint: TONES.busy, note: "running" },
  STALLED: { tint: PALETTE[2], note: "stalled" },
  LOST: { tint: PALETTE[4], note: "lost" },
};

/** Open incidents, the worst first. */
const TROUBLE: Record<string, Tinted> = {
  wrong: { tint: TONES.bad, note: "wrong" },
  failed: { tint: PALETTE[4], note: "failed" },
  doubted: { tint: PALETTE[2], note: "doubted" },
  late: { tint: TONES.warn, note: "late" },
  stalled: { tint: PALETTE[0], note: "stalled" },
};
const CALM: Tinted = { tint: TONES.none, note: "no open incident" };

/** An entity as the server lists it. */
export interface Scheduled {
  entity: string;
  /** Null: it is not cut by time, and whether it exists is not listed. */
  period: string | null;
  latest: string | null;
  wrong: number;
  homes: readonly { dataset: string }[];
}

export interface LensData {
  freshness?: ReadonlyMap<string, string>;
  /** Object → the worst kind of open incident it is the cause of, or hit by. */
  troubles?: Troubles;
  /** Those that are declared, with the datasets that hold them. */
  entities?: readonly Scheduled[];
  reads?: ReadonlyMap<string, number>;
  money?: ReadonlyMap<string, number>;
  /** Dataset → its columns whose origin is known. */
  traced?: ReadonlyMap<string, ReadonlySet<string>>;
  /** Datasets that a job of the answer writes. */
  written?: ReadonlySet<string>;
  /** Dataset or job → who reports its edges, as `dbt, query-log`; `cut`: there are edges that were not looked up. */
  perspectives?: { of: ReadonlyMap<string, string>; cut: boolean };
  /** Dataset → what sources disagree about its origin. */
  disagreements?: ReadonlyMap<string, string>;
  changes?: ReadonlyMap<string, "added" | "gone" | "changed">;
}

export function lensView(lens: Lens | undefined, nodes: readonly LineageNode[], data: LensData): LensView | null {
  switch (lens) {
    case "state":
      return {
        of: (node) => (node.type === "JOB" && node.last_run ? (RUN[runState(node.last_run)] ?? null) : null),
        legend: Object.values(RUN).map(({ tint, note }) => ({ tint, word: note })),
      };
    case "incidents":
      return {
        of: (node) => TROUBLE[data.troubles?.get(node.id)?.kind ?? ""] ?? CALM,
        legend: [...Object.values(TROUBLE), CALM].map(({ tint, note }) => ({ tint, word: note })),
      };
    case "validity":
      return validity(data.entities ?? []);
    case "freshness":
      return {
        of: (node) => (node.type === "DATASET" ? (FRESH[data.freshness?.get(node.id) ?? "unknown"] ?? null) : null),
        legend: Object.values(FRESH).map(({ tint, note }) => ({ tint, word: note })),
      };
    case "usage":
      return usage(data.reads ?? new Map());
    case "cost":
      return cost(data.money ?? new Map());
    case "pii":
      return pii();
    case "completeness":
      return completeness(data.traced ?? new Map(), data.written ?? new Set());
    case "perspective": {
      const { of = new Map(), cut = false } = data.perspectives ?? {};
      return groups(nodes, (node) => of.get(node.id) ?? null, cut ? "not among the edges looked up" : "in no edge");
    }
    case "disagreement":
      return disagreement(data.disagreements ?? new Map());
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

const VALIDITY = {
  wrong: { tint: TONES.bad, word: "wrong instances" },
  none: { tint: TONES.warn, word: "no instance yet" },
  valid: { tint: TONES.good, word: "valid" },
  unscheduled: { tint: TONES.none, word: "no schedule" },
};

/** By the instances of what a dataset holds; of several entities the worst counts. */
function validity(entities: readonly Scheduled[]): LensView {
  const held = new Map<string, Scheduled[]>();
  for (const one of entities.filter(({ period, wrong }) => period !== null || wrong > 0))
    for (const { dataset } of one.homes) held.set(dataset, [...(held.get(dataset) ?? []), one]);
  return {
    of: (node) => {
      if (node.type !== "DATASET") return null;
      const those = held.get(node.id) ?? [];
      if (those.length === 0) return { tint: VALIDITY.unscheduled.tint, note: VALIDITY.unscheduled.word };
      const wrong = those.reduce((sum, one) => sum + one.wrong, 0);
      if (wrong > 0) return { tint: VALIDITY.wrong.tint, note: plural(wrong, "wrong instance") };
      if (those.some((one) => one.latest === null)) return { tint: VALIDITY.none.tint, note: VALIDITY.none.word };
      const latest = those.flatMap((one) => (one.latest === null ? [] : [one.latest])).sort()[0];
      return { tint: VALIDITY.valid.tint, note: `valid to ${latest}` };
    },
    legend: Object.values(VALIDITY),
  };
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

function cost(money: ReadonlyMap<string, number>): LensView {
  const most = Math.max(...money.values(), Number.MIN_VALUE);
  const steps = ["#e0b45c", "#c98a1b", "#a1560f"];
  return {
    of: (node) => {
      const n = money.get(node.id);
      if (n === undefined) return { tint: TONES.none, note: "cost not measured" };
      const step = Math.min(Math.floor((n / most) * 3), 2);
      return { tint: steps[step], note: `${n.toFixed(2)} a period (${percent(n / most)} of the most)` };
    },
    legend: [
      { tint: TONES.none, word: "not measured" },
      { tint: steps[0], word: "cheap" },
      { tint: steps[1], word: "some" },
      { tint: steps[2], word: "dear" },
    ],
  };
}

/** `pii`, `pii:email`, `PII`; not `pii:false`. */
export const isPersonal = (tag: string) => /^pii(:|$)/i.test(tag) && !/^pii:(false|no|none|0)$/i.test(tag);

function pii(): LensView {
  const own = { tint: TONES.bad, word: "personal data, by its tag" };
  const part = { tint: TONES.warn, word: "columns with personal data" };
  const none = { tint: TONES.none, word: "no such tag" };
  return {
    of: (node) => {
      if (node.type !== "DATASET") return null;
      const columns = node.fields.filter((field) => field.tags.some(isPersonal)).map((field) => field.name);
      if (columns.length > 0) return { tint: part.tint, note: `personal: ${columns.join(", ")}` };
      return node.tags.some(isPersonal)
        ? { tint: own.tint, note: "personal data" }
        : { tint: none.tint, note: none.word };
    },
    legend: [own, part, none],
  };
}

function completeness(traced: ReadonlyMap<string, ReadonlySet<string>>, written: ReadonlySet<string>): LensView {
  return {
    of: (node) => {
      if (node.type !== "DATASET") return null;
      if (!written.has(node.id)) return { tint: TONES.none, note: "no writer shown" };
      if (node.fields.length === 0) return { tint: TONES.warn, note: "no schema reported" };
      const known = node.fields.filter((field) => traced.get(node.id)?.has(field.name)).length;
      const share = known / node.fields.length;
      return {
        tint: share === 1 ? TONES.good : share > 0 ? TONES.warn : TONES.bad,
        note: `${known} of ${plural(node.fields.length, "column")} traced`,
      };
    },
    legend: [
      { tint: TONES.good, word: "every column traced" },
      { tint: TONES.warn, word: "some columns, or no schema" },
      { tint: TONES.bad, word: "no column traced" },
      { tint: TONES.none, word: "no writer shown" },
    ],
  };
}

const DISAGREEMENTS: Record<string, string> = {
  in_no_dag: "seen in the query log, in no DAG",
  untold_by_its_job: "not reported by its job",
  never_seen: "declared, never seen",
};

function disagreement(words: ReadonlyMap<string, string>): LensView {
  return {
    of: (node) => {
      if (node.type !== "DATASET") return null;
      const kind = words.get(node.id);
      return kind
        ? { tint: TONES.bad, note: DISAGREEMENTS[kind] ?? kind.replaceAll("_", " ") }
        : { tint: TONES.none, note: "no disagreement" };
    },
    legend: [
      { tint: TONES.bad, word: "sources disagree about its origin" },
      { tint: TONES.none, word: "no disagreement" },
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
