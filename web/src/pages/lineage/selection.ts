// Selectors as text, over what is drawn: words and `KEY:VALUE`, each of which has to hold; `-` before one leaves it out; `+orders`,
// `orders+2`, `+orders+`: with what is upstream, downstream of it, so many steps. Pure.
import type { GraphEdge, GraphNode } from "../../graph/model.ts";
import { platformOf } from "../../names.ts";

export interface SelectableNode extends GraphNode {
  namespace: string;
  parent: string | null;
  owners: readonly string[];
  /** ISO 8601: a job's last run, a dataset's last event; null: of neither kind, or never seen. */
  seenAt: string | null;
  /** The ids of those that it stands for; absent: itself alone. */
  members?: readonly string[];
}

/** Each key with an example, for the help beside the line. */
export const KEYS = {
  tag: "tag:pii",
  owner: "owner:ana",
  type: "type:job",
  platform: "platform:s3",
  namespace: "namespace:lake",
  column: "column:email",
  state: "state:failed",
  origin: "origin:parsed_sql",
  after: "after:7d",
  before: "before:2026-11-01",
} as const;
type Key = keyof typeof KEYS;

const ORIGINS = ["observed", "declared", "parsed_sql", "manual", "schedule"];
const TYPES = ["dataset", "job"];

interface Term {
  not: boolean;
  key: Key | "name";
  text: string;
  up: number;
  down: number;
}

const FAR = Number.POSITIVE_INFINITY;

export function termsOf(text: string): Term[] {
  return text
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => {
      const not = word.startsWith("-") && word.length > 1;
      const bare = not ? word.slice(1) : word;
      const around = /^(\d*)(\+?)(.*?)(\+?)(\d*)$/.exec(bare)!;
      const [, upCount, up, middle, down, downCount] = around;
      const inner = up || down ? middle : bare;
      const key = /^([a-z]+):(.+)$/.exec(inner);
      const known = key !== null && key[1] in KEYS;
      return {
        not,
        key: known ? (key[1] as Key) : ("name" as const),
        text: (known ? key[2] : inner).toLowerCase(),
        up: up ? Number(upCount || FAR) : 0,
        down: down ? Number(downCount || FAR) : 0,
      };
    })
    .filter((term) => term.text !== "");
}

const DAY = 86_400_000;
const UNITS: Record<string, number> = { h: DAY / 24, d: DAY, w: 7 * DAY };

/** `2026-11-01`, with or without a time, in UTC; or `7d`: so long ago, in hours, days or weeks. NaN for another text. */
function momentOf(text: string, now: number): number {
  const ago = /^(\d+)([hdw])$/.exec(text);
  if (ago) return now - Number(ago[1]) * UNITS[ago[2]];
  if (!/^\d{4}-\d\d-\d\d/.test(text)) return Number.NaN;
  const zoned = /(z|[+-]\d\d:?\d\d)$/.test(text.slice(10));
  return Date.parse(text.toUpperCase() + (zoned || text.length === 10 ? "" : "Z"));
}

/** Words that hold for nothing because they cannot: each with what can be written instead. */
export function mistakesIn(text: string): string[] {
  return termsOf(text).flatMap((term) => {
    const oneOf = (values: string[]) =>
      values.includes(term.text) ? [] : [`${term.key}:${term.text} is not one of ${values.join(", ")}.`];
    switch (term.key) {
      case "type":
        return oneOf(TYPES);
      case "origin":
        return oneOf(ORIGINS);
      case "after":
      case "before":
        return Number.isNaN(momentOf(term.text, 0))
          ? [`${term.key}:${term.text} is not a time: write 2026-11-01, 2026-11-01T06:00 or 7d, 12h, 2w (so long ago).`]
          : [];
      default:
        return [];
    }
  });
}

interface Sought {
  node: SelectableNode;
  origins: ReadonlySet<string>;
  now: number;
}

function matches({ node, origins, now }: Sought, { key, text }: Term): boolean {
  const seen = () => (node.seenAt === null ? Number.NaN : Date.parse(node.seenAt));
  switch (key) {
    case "tag":
      return [...node.tags, ...node.fields.flatMap((field) => field.tags)].some((tag) => tag.toLowerCase() === text);
    case "type":
      return node.kind === text;
    case "owner":
      return node.owners.some((owner) => owner.toLowerCase() === text);
    case "platform":
      return platformOf(node.namespace).toLowerCase() === text;
    case "namespace":
      return node.namespace.toLowerCase().includes(text);
    case "state":
      return (node.state ?? "").toLowerCase() === text;
    case "column":
      return node.fields.some((field) => field.name.toLowerCase() === text);
    case "origin":
      return origins.has(text);
    case "after":
      return seen() >= momentOf(text, now);
    case "before":
      return seen() < momentOf(text, now);
    default:
      return (
        node.title.toLowerCase().includes(text) ||
        node.label.toLowerCase().includes(text) ||
        (node.members?.some((id) => id.toLowerCase().includes(text)) ?? false)
      );
  }
}

const NONE: ReadonlySet<string> = new Set();

/** Node → how its edges are known, in small letters. */
function originsOf(edges: readonly GraphEdge[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { source, target, origins } of edges)
    for (const origin of origins ?? [])
      for (const id of [source, target]) {
        const known = found.get(id);
        if (known) known.add(origin.toLowerCase());
        else found.set(id, new Set([origin.toLowerCase()]));
      }
  return found;
}

/** The nodes that all terms select; null without a term. */
export function select(
  text: string,
  nodes: readonly SelectableNode[],
  edges: readonly GraphEdge[],
  now = Date.now(),
): ReadonlySet<string> | null {
  const terms = termsOf(text);
  if (terms.length === 0) return null;
  const origins = originsOf(edges);
  let found = new Set(nodes.map((node) => node.id));
  for (const term of terms) {
    const own = new Set(
      nodes
        .filter((node) => matches({ node, origins: origins.get(node.id) ?? NONE, now }, term))
        .map((node) => node.id),
    );
    const seen = new Set(own);
    reach(own, edges, "target", "source", term.up, seen);
    reach(own, edges, "source", "target", term.down, seen);
    found = new Set([...found].filter((id) => seen.has(id) !== term.not));
  }
  return found;
}

function reach(
  from: ReadonlySet<string>,
  edges: readonly GraphEdge[],
  near: "source" | "target",
  far: "source" | "target",
  steps: number,
  seen: Set<string>,
) {
  let border = from;
  for (let step = 0; step < steps && border.size > 0; step++) {
    const next = new Set<string>();
    for (const edge of edges)
      if (border.has(edge[near]) && !seen.has(edge[far])) {
        seen.add(edge[far]);
        next.add(edge[far]);
      }
    border = next;
  }
}
