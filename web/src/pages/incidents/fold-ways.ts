// Jobs of one package or DAG on the way of an incident are one card, until it is opened. The cause itself is always seen. Pure.
import { lookOf } from "../../parts/state.tsx";
import { distinguish } from "../../names.ts";
import type { Detail } from "./incident-page.tsx";

type WayNode = Detail["nodes"][number];

export interface FoldedWays {
  /** `folded`: how many jobs a node stands for; 0: itself alone. */
  nodes: (WayNode & { folded: number })[];
  edges: Detail["edges"];
  /** Parents whose jobs are shown: they can be folded. */
  opened: string[];
}

const TONES = ["bad", "warn", "busy", "good", "none", "dim"];
const byTrouble = (a: WayNode, b: WayNode) => TONES.indexOf(lookOf(a.state).tone) - TONES.indexOf(lookOf(b.state).tone);
const unique = (values: string[]) => [...new Set(values)].sort();

export function foldWays({ nodes, edges }: Detail, open: ReadonlySet<string>): FoldedWays {
  const byParent = new Map<string, WayNode[]>();
  for (const node of nodes)
    if (node.parent !== null && node.role !== "cause")
      byParent.set(node.parent, [...(byParent.get(node.parent) ?? []), node]);
  const stands = new Map<string, string>();
  const inside = new Map<string, WayNode[]>();
  const opened: string[] = [];
  for (const [parent, children] of byParent) {
    if (children.length < 2) continue;
    if (open.has(parent)) opened.push(parent);
    else {
      inside.set(parent, children);
      for (const child of children) stands.set(child.id, parent);
    }
  }
  const of = (id: string) => stands.get(id) ?? id;
  const shown = nodes
    .filter((node) => !stands.has(node.id) && !inside.has(node.id))
    .map((node) => ({ ...node, folded: 0 }));
  const names = distinguish([...inside.keys()].map((id) => ({ id })));
  for (const [parent, children] of inside) {
    const self = nodes.find((node) => node.id === parent);
    const all = self ? [self, ...children] : children;
    const [worst] = [...all].filter((node) => node.state !== null).sort(byTrouble);
    shown.push({
      id: parent,
      label: self?.label ?? names.get(parent) ?? parent,
      role: self?.role === "cause" ? "cause" : all.some((node) => node.role === "hit") ? "hit" : "between",
      state: worst?.state ?? null,
      since: worst?.since ?? null,
      owners: unique(all.flatMap((node) => node.owners)),
      teams: unique(all.flatMap((node) => node.teams)),
      parent: self?.parent ?? null,
      folded: children.length,
    });
  }
  const joined = new Map<string, Detail["edges"][number]>();
  for (const edge of edges) {
    const [source, target] = [of(edge.source), of(edge.target)];
    if (source !== target) joined.set(`${source}\n${target}`, { source, target });
  }
  return { nodes: shown, edges: [...joined.values()], opened };
}
