// Parents fold: a package or a DAG stands for its children, with their edges, until it is opened. Pure.
import type { LineageAnswer, LineageNode } from "../../api/types.ts";
import { bySeriousness, runState } from "../../run-state.ts";

export interface Folded {
  nodes: LineageNode[];
  edges: LineageAnswer["edges"];
  column_edges: LineageAnswer["column_edges"];
  /** Parent → the children it stands for. */
  inside: Map<string, string[]>;
  /** Parents that are open: they can be folded again. */
  opened: string[];
}

type JobNode = Extract<LineageNode, { type: "JOB" }>;

/**
 * `open`: parents whose children are shown; `all`: every parent is open. A parent with a single child in the answer adds
 * nothing and stays folded out of sight, unless it is the start itself.
 */
export function foldJobs(answer: LineageAnswer, open: ReadonlySet<string>, all: boolean): Folded {
  const byParent = new Map<string, JobNode[]>();
  for (const node of answer.nodes)
    if (node.type === "JOB" && node.parent && node.id !== answer.root) {
      const list = byParent.get(node.parent);
      if (list) list.push(node);
      else byParent.set(node.parent, [node]);
    }
  const known = new Map(answer.nodes.map((node) => [node.id, node]));
  const stands = new Map<string, string>();
  const inside = new Map<string, string[]>();
  const opened: string[] = [];
  for (const [parent, children] of byParent) {
    if (children.length < 2 && parent !== answer.root) continue;
    if (all || open.has(parent)) {
      opened.push(parent);
      continue;
    }
    inside.set(parent, children.map((child) => child.id).sort());
    for (const child of children) stands.set(child.id, parent);
  }
  const of = (id: string) => stands.get(id) ?? id;
  const nodes: LineageNode[] = [];
  for (const node of answer.nodes) if (!stands.has(node.id) && !inside.has(node.id)) nodes.push(node);
  for (const [parent, ids] of inside) {
    const children = ids.map((id) => known.get(id) as JobNode);
    nodes.push(known.get(parent) ? merge(known.get(parent) as JobNode, children) : standIn(parent, children));
  }
  // An open parent beside its own children, without an edge, would only stand in the way; not so the start.
  const touched = new Set(answer.edges.flatMap((edge) => [edge.source, edge.target]));
  const apart = new Set(opened);
  const shown = nodes.filter((node) => !apart.has(node.id) || touched.has(node.id) || node.id === answer.root);
  const edges: LineageAnswer["edges"] = [];
  const from = new Map<string, Map<string, LineageAnswer["edges"][number]>>();
  for (const edge of answer.edges) {
    const source = of(edge.source);
    const target = of(edge.target);
    let leaving = from.get(source);
    if (!leaving) from.set(source, (leaving = new Map()));
    const before = leaving.get(target);
    if (!before) {
      const own = { ...edge, source, target };
      leaving.set(target, own);
      edges.push(own);
    } else {
      before.intermittent &&= edge.intermittent;
      if ((edge.last_seen ?? "") > (before.last_seen ?? "")) before.last_seen = edge.last_seen;
    }
  }
  return {
    nodes: shown,
    edges,
    column_edges: answer.column_edges.map((edge) => ({
      ...edge,
      source: of(edge.source),
      target: of(edge.target),
      job: of(edge.job),
    })),
    inside,
    opened,
  };
}

function merge(parent: JobNode, children: readonly JobNode[]): JobNode {
  const sum = (key: "hidden_upstream" | "hidden_downstream") =>
    children.reduce((total, child) => total + child[key], parent[key]);
  return {
    ...parent,
    last_run: parent.last_run ?? worst(children),
    hidden_upstream: sum("hidden_upstream"),
    hidden_downstream: sum("hidden_downstream"),
  };
}

/** A parent that the answer does not hold, as its children tell of it: a tag that each of them has is its own. */
function standIn(id: string, children: readonly JobNode[]): JobNode {
  const [first] = children;
  const prefix = `job:${first.namespace}:`;
  const name = id.startsWith(prefix) ? id.slice(prefix.length) : id.replace(/^job:/, "");
  const nearest = children.reduce((least, child) => (Math.abs(child.hop) < Math.abs(least.hop) ? child : least), first);
  return merge(
    {
      ...first,
      id,
      name,
      label: name,
      parent: null,
      tags: first.tags.filter((tag) => children.every((child) => child.tags.includes(tag))),
      hop: nearest.hop,
      hidden_upstream: 0,
      hidden_downstream: 0,
      last_run: null,
    },
    children,
  );
}

function worst(children: readonly JobNode[]): JobNode["last_run"] {
  const runs = children.flatMap((child) => (child.last_run ? [child.last_run] : []));
  return runs.sort((a, b) => bySeriousness(runState(a), runState(b)))[0] ?? null;
}
