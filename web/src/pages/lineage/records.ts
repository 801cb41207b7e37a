// Lineage of single runs, versions, items and instances as the same drawing: runs have the shape of jobs, what they made
// that of datasets. Pure.
import type { Answer } from "../../api/client.ts";
import { ago, bytes, count, duration, plural } from "../../format.ts";
import type { NodeState } from "../../graph/model.ts";
import { bareName, distinguish } from "../../names.ts";
import { TONES } from "../../parts/state.tsx";
import type { SelectableNode } from "./selection.ts";
import type { DrawnGraph } from "./to-graph.ts";

export type LineageOfRecords = Answer<"/api/v2/lineage">;
export type RecordNode = Extract<LineageOfRecords["nodes"][number], { type: "RUN" | "VERSION" | "INSTANCES" }>;

export const isRecord = (node: LineageOfRecords["nodes"][number]): node is RecordNode =>
  node.type === "RUN" || node.type === "VERSION" || node.type === "INSTANCES";

/** Datasets and jobs are asked for by their node ids; anything else may be a single run or what it made. */
export const isNamed = (id: string) => /^(dataset|job):/.test(id);

/** The text that asks for a node of such an answer; null for one that cannot be asked for. */
export function askFor(node: RecordNode): string | null {
  if (node.type === "RUN") return node.run_id;
  if (node.type === "INSTANCES") return node.instances.length > 0 ? `${node.entity}@${node.instances.join(",")}` : null;
  return node.version_id ?? node.item ?? (/^(content|item):/.test(node.id) ? bareName(node.id) : null);
}

/** The dataset or job that a record belongs to. */
export const ownerOf = (node: RecordNode): string | null =>
  node.type === "RUN" ? node.job : node.type === "VERSION" ? node.dataset : null;

export function graphOfRecords(answer: LineageOfRecords): DrawnGraph {
  const records = answer.nodes.filter(isRecord);
  const names = distinguish(records.flatMap((node) => ownerOf(node) ?? []).map((id) => ({ id })));
  return {
    root: answer.root,
    nodes: records.map((node) => drawn(node, names)),
    edges: answer.edges.map((edge) => ({
      source: edge.source,
      target: edge.target,
      declared:
        edge.refused || edge.claims.some((claim) => claim.evidence === "DERIVED" || claim.evidence === "UNKNOWN"),
      change: null,
    })),
    links: [],
  };
}

function drawn(node: RecordNode, names: ReadonlyMap<string, string>): SelectableNode {
  const owner = ownerOf(node);
  const shared = {
    id: node.id,
    namespace: owner ? bareName(owner) : "",
    parent: null,
    owners: [],
    seenAt: node.type === "RUN" ? node.started_at : node.type === "VERSION" ? node.written_at : null,
    fields: [],
    tags: node.against ? [`against: ${node.against}`] : [],
    tint: node.against ? TONES.bad : null,
    note: node.against,
    folded: 0,
    hop: node.hop,
    hiddenUpstream: node.hidden_upstream,
    hiddenDownstream: node.hidden_downstream,
  };
  if (node.type === "RUN") {
    const state = node.effective_state ?? node.state;
    return {
      ...shared,
      kind: "job",
      word: "run",
      label: (owner && names.get(owner)) || node.label,
      title: `run ${node.run_id}${owner ? ` of ${bareName(owner)}` : ""}`,
      detail: node.started_at ? `${ago(node.started_at)} · ${duration(node.duration_ms)}` : "only named by others",
      state: (state as NodeState | null) ?? null,
    };
  }
  if (node.type === "VERSION") {
    const size = [
      node.rows !== null && plural(node.rows, "row"),
      node.bytes !== null && bytes(node.bytes),
      node.part && Object.values(node.part).join(" "),
    ].filter(Boolean);
    return {
      ...shared,
      kind: "dataset",
      word: "version",
      label: (owner && names.get(owner)) || node.label,
      title: `${node.label}${node.external_version ? ` version ${node.external_version}` : ""}`,
      detail: node.against ?? [node.written_at ? ago(node.written_at) : "not recorded", ...size].join(" · "),
      state: null,
    };
  }
  return {
    ...shared,
    kind: "dataset",
    word: "instances",
    label: node.entity,
    title: `${node.entity} ${node.instances.slice(0, 5).join(", ")}${node.instances.length > 5 ? ` and ${count(node.instances.length - 5)} more` : ""}`,
    detail: node.against ?? (node.count === 1 ? (node.instances[0] ?? "1 instance") : plural(node.count, "instance")),
    state: null,
  };
}
