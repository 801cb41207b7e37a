// Selectors as text: words, `tag:pii`, `type:job`, `namespace:x`, `state:failed`, `column:x`, `owner:ana`; `-` before one leaves it out;
// `+orders`, `orders+2`, `+orders+`: with what is upstream, downstream of it, so many steps. Pure.
import type { GraphEdge, GraphNode } from "../../graph/model.ts";

export interface SelectableNode extends GraphNode {
  namespace: string;
  parent: string | null;
  owners: readonly string[];
  /** The ids of those that it stands for; absent: itself alone. */
  members?: readonly string[];
}

interface Term {
  not: boolean;
  key: string;
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
      const key = /^(tag|type|namespace|state|column|owner):(.+)$/.exec(inner);
      return {
        not,
        key: key?.[1] ?? "name",
        text: (key?.[2] ?? inner).toLowerCase(),
        up: up ? Number(upCount || FAR) : 0,
        down: down ? Number(downCount || FAR) : 0,
      };
    })
    .filter((term) => term.text !== "");
}

function matches(node: SelectableNode, { key, text }: Term): boolean {
  if (key === "tag")
    return [...node.tags, ...node.fields.flatMap((field) => field.tags)].some((tag) => tag.toLowerCase() === text);
  if (key === "type") return node.kind === text;
  if (key === "owner") return node.owners.some((owner) => owner.toLowerCase() === text);
  if (key === "namespace") return node.namespace.toLowerCase().includes(text);
  if (key === "state") return (node.state ?? "").toLowerCase() === text;
  if (key === "column") return node.fields.some((field) => field.name.toLowerCase() === text);
  return (
    node.title.toLowerCase().includes(text) ||
    node.label.toLowerCase().includes(text) ||
    (node.members?.some((id) => id.toLowerCase().includes(text)) ?? false)
  );
}

/** The nodes that all terms select; null without a term. */
export function select(
  text: string,
  nodes: readonly SelectableNode[],
  edges: readonly GraphEdge[],
): ReadonlySet<string> | null {
  const terms = termsOf(text);
  if (terms.length === 0) return null;
  let found = new Set(nodes.map((node) => node.id));
  for (const term of terms) {
    const own = new Set(nodes.filter((node) => matches(node, term)).map((node) => node.id));
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
