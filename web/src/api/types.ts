// Short names for the shapes of the API that several pages use. All of them are the server's own (schema.d.ts).
import type { Answer } from "./client.ts";
import type { components } from "./schema.d.ts";

type Schemas = components["schemas"];

export type NodeId = string;
type LineageOfAnything = Answer<"/api/v2/lineage">;
export type LineageNode = Extract<LineageOfAnything["nodes"][number], { type: "DATASET" | "JOB" }>;
/** Lineage of datasets and jobs, which the graph draws. */
export type LineageAnswer = Omit<LineageOfAnything, "nodes"> & { nodes: LineageNode[] };
export type DatasetNode = Schemas["DatasetNode"];
export type JobNode = Schemas["JobNode"];
export type Dataset = Answer<"/api/v2/datasets/{namespace}/{name}">;
export type Job = Answer<"/api/v2/jobs/{namespace}/{name}">;
export type Field = Dataset["fields"][number];
export type Version = Dataset["versions"][number];
export type Run = Answer<"/api/v2/runs">["runs"][number];
export type RunDetail = Answer<"/api/v2/runs/{run_id}">;
export type SearchResult = Answer<"/api/v2/search">["results"][number];
export type Owner = Schemas["Owner"];
export type Facets = Record<string, unknown>;

/** The datasets and jobs of an answer, and what joins them. */
export function ofNames(answer: LineageOfAnything): LineageAnswer {
  const nodes = answer.nodes.filter((node): node is LineageNode => node.type === "DATASET" || node.type === "JOB");
  if (nodes.length === answer.nodes.length) return { ...answer, nodes };
  const ids = new Set(nodes.map((node) => node.id));
  return { ...answer, nodes, edges: answer.edges.filter((edge) => ids.has(edge.source) && ids.has(edge.target)) };
}
