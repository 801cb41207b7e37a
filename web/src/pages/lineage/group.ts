// Groups: all nodes of a namespace, a source, a team, a product, a tag or a folder as one node, until it is opened. The start
// stays itself, so that there is something to look from. Nothing goes without a count. Pure.
import type { GraphEdge } from "../../graph/model.ts";
import { plural } from "../../format.ts";
import { platformOf } from "../../names.ts";
import type { GroupBy } from "../../search-params.ts";
import type { DrawnGraph } from "./to-graph.ts";
import type { SelectableNode } from "./selection.ts";
import { bySeriousness } from "../../run-state.ts";

export interface Grouped {
  graph: DrawnGraph;
  /** Group → the nodes that it stands for. */
  inside: Map<string, string[]>;
  /** Groups whose members are shown. */
  opened: string[];
}

const tagged = (node: SelectableNode, key: string) => {
  const tag = node.tags.find((one) => one.toLowerCase().startsWith(`${key}:`));
  return tag?.slice(key.length + 1) ?? null;
};

/** What a node belongs to; null: to nothing of the sort. A team is a tag `team:…`, or else the owner. */
export function keyOf(node: SelectableNode, by: GroupBy): string | null {
  switch (by) {
    case "namespace":
      return node.namespace;
    case "source":
      return platformOf(node.namespace).toLowerCase();
    case "team":
      return tagged(node, "team") ?? node.owners[0] ?? null;
    case "product":
      return tagged(node, "product");
    case "owner":
      return node.owners[0] ?? null;
    case "tag":
      return node.tags[0] ?? null;
    case "parent":
      return folderOf(node);
  }
}

/** A dataset's schema or folder; a job's parent. */
function folderOf(node: SelectableNode): string | null {
  if (node.kind === "job") return node.parent;
  const name = node.title.slice(node.namespace.length + 1);
  const cut = Math.max(name.lastIndexOf("/"), name.lastIndexOf("."));
  return cut > 0 ? `${node.namespace} ${name.slice(0, cut)}` : node.namespace;
}

export function groupNodes(graph: DrawnGraph, by: GroupBy, open: ReadonlySet<string>): Grouped {
  const members = new Map<string, SelectableNode[]>();
  for (const node of graph.nodes) {
    if (node.id === graph.root) continue;
    const id = `group:${by}:${keyOf(node, by) ?? ""}`;
    const list = members.get(id);
    if (list) list.push(node);
    else members.set(id, [node]);
  }
  const stands = new Map<string, string>();
  const inside = new Map<string, string[]>();
  const opened: string[] = [];
  for (const [id, nodes] of members) {
    if (nodes.length < 2) continue;
    if (open.has(id)) {
      opened.push(id);
      continue;
    }
    inside.set(
      id,
      nodes.map((node) => node.id),
    );
    for (const node of nodes) stands.set(node.id, id);
  }
  if (inside.size === 0) return { graph, inside, opened };

  const edges = new Map<string, GraphEdge & { count: number }>();
  const within = new Map<string, number>();
  for (const edge of graph.edges) {
    const source = stands.get(edge.source) ?? edge.source;
    const target = stands.get(edge.target) ?? edge.target;
    const count = edge.count ?? 1;
    if (source === target && inside.has(source)) {
      within.set(source, (within.get(source) ?? 0) + count);
      continue;
    }
    const key = `${source}\n${target}`;
    const before = edges.get(key);
    if (!before) edges.set(key, { ...edge, source, target, count });
    else {
      before.count += count;
      before.declared &&= edge.declared;
      before.intermittent &&= edge.intermittent;
      before.origins = [...new Set([...(before.origins ?? []), ...(edge.origins ?? [])])];
      if (before.change !== edge.change) before.change = "changed";
    }
  }
  const nodes = graph.nodes.filter((node) => !stands.has(node.id));
  for (const id of inside.keys()) nodes.push(groupNode(id, by, members.get(id)!, within.get(id) ?? 0));
  return {
    graph: {
      ...graph,
      nodes,
      edges: [...edges.values()],
      links: graph.links.filter((link) => !stands.has(link.source) && !stands.has(link.target)),
    },
    inside,
    opened,
  };
}

function groupNode(id: string, by: GroupBy, members: readonly SelectableNode[], within: number): SelectableNode {
  // A package that is folded counts as the jobs it stands for.
  const total = (some: readonly SelectableNode[]) => some.reduce((sum, node) => sum + Math.max(node.folded, 1), 0);
  const datasets = total(members.filter((node) => node.kind === "dataset"));
  const jobs = total(members) - datasets;
  const key = keyOf(members[0], by);
  const sum = (side: "hiddenUpstream" | "hiddenDownstream") => members.reduce((total, node) => total + node[side], 0);
  const states = members.flatMap((node) => (node.state ? [node.state] : []));
  const tints = new Set(members.map((node) => node.tint));
  const counts = [datasets && plural(datasets, "dataset"), jobs && plural(jobs, "job")].filter(Boolean).join(", ");
  return {
    id,
    kind: datasets > 0 ? "dataset" : "job",
    word: "group",
    namespace: members[0].namespace,
    parent: null,
    owners: [],
    seenAt: null,
    label: key ?? `no ${by}`,
    title: `${by} ${key ?? "unknown"}: ${counts}, ${plural(within, "edge")} inside`,
    detail: counts,
    fields: [],
    tags: [],
    state: states.sort(bySeriousness)[0] ?? null,
    tint: tints.size === 1 ? [...tints][0] : null,
    note: tints.size === 1 ? members[0].note : null,
    folded: datasets + jobs,
    hop: members.reduce((least, node) => (Math.abs(node.hop) < Math.abs(least) ? node.hop : least), members[0].hop),
    hiddenUpstream: sum("hiddenUpstream"),
    hiddenDownstream: sum("hiddenDownstream"),
  };
}
