// What a column comes from and what it feeds, all the way through the graph on the screen. Pure.
import type { ColumnLink, FieldRef, Graph } from "./model.ts";

export interface Trace {
  /** Node id → columns on the path; the empty set when only the whole node is. */
  fields: Map<string, Set<string>>;
  /** Indices into the links followed. */
  links: Set<number>;
  /** Indices into graph.edges followed (a job that read columns and then wrote something without any). */
  edges: Set<number>;
}

const WHOLE = "\u0000";
const key = (node: string, field: string | null) => `${node}\u0000${field ?? WHOLE}`;

/**
 * Everything up- and downstream of one column. A dependency of a whole dataset (a filter, a join, a file without
 * columns) counts for each of its columns. `links` are the ones shown: a hidden indirect link is not followed.
 */
export function trace(graph: Graph, links: readonly ColumnLink[], start: FieldRef): Trace {
  const into = new Map<string, number[]>();
  const outOf = new Map<string, number[]>();
  const intoNode = new Map<string, number[]>();
  const outOfNode = new Map<string, number[]>();
  links.forEach((link, i) => {
    push(into, key(link.target, link.targetField), i);
    push(outOf, key(link.source, link.sourceField), i);
    push(intoNode, link.target, i);
    push(outOfNode, link.source, i);
  });
  const edgesInto = new Map<string, number[]>();
  const edgesOutOf = new Map<string, number[]>();
  graph.edges.forEach((edge, i) => {
    push(edgesInto, edge.target, i);
    push(edgesOutOf, edge.source, i);
  });
  const result: Trace = { fields: new Map(), links: new Set(), edges: new Set() };
  mark(result, start.node, start.field);

  const walk = (upstream: boolean) => {
    const seen = new Set<string>();
    const queue: { node: string; field: string | null }[] = [{ node: start.node, field: start.field }];
    const visit = (node: string, field: string | null) => {
      mark(result, node, field);
      queue.push({ node, field });
    };
    for (let head = 0; head < queue.length; head++) {
      const { node, field } = queue[head];
      if (seen.has(key(node, field))) continue;
      seen.add(key(node, field));
      const exact = upstream ? into : outOf;
      const whole = upstream ? intoNode : outOfNode;
      const next =
        field === null
          ? (whole.get(node) ?? [])
          : [...(exact.get(key(node, field)) ?? []), ...(exact.get(key(node, null)) ?? [])];
      for (const i of next) {
        const link = links[i];
        result.links.add(i);
        if (link.job) mark(result, link.job, null);
        if (upstream) visit(link.source, link.sourceField);
        else visit(link.target, link.targetField);
      }
      // Columns that end in a job feed whatever that job wrote without saying which column went where.
      if (upstream && !intoNode.has(node)) {
        for (const e of edgesInto.get(node) ?? []) {
          const job = graph.edges[e].source;
          if (!intoNode.has(job)) continue;
          result.edges.add(e);
          visit(job, null);
        }
      } else if (!upstream && field === null) {
        for (const e of edgesOutOf.get(node) ?? []) {
          const target = graph.edges[e].target;
          if (!intoNode.has(node) || intoNode.has(target)) continue;
          result.edges.add(e);
          visit(target, null);
        }
      }
    }
  };
  walk(true);
  walk(false);
  return result;
}

function push(map: Map<string, number[]>, at: string, value: number) {
  const list = map.get(at);
  if (list) list.push(value);
  else map.set(at, [value]);
}

function mark(result: Trace, node: string, field: string | null) {
  let fields = result.fields.get(node);
  if (!fields) {
    fields = new Set();
    result.fields.set(node, fields);
  }
  if (field !== null) fields.add(field);
}
