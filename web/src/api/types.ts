// The wire shapes of docs/reference/api-v2.md, as the server writes them. Nothing is renamed here.

export type NodeId = string;
export type RunState = "RUNNING" | "COMPLETED" | "FAILED" | "ABORTED" | "OTHER" | "NEW";

export interface Field {
  name: string;
  type: string | null;
  description: string | null;
  tags: string[];
}

export interface LastRun {
  id: string;
  state: RunState;
  started_at: string | null;
  ended_at: string | null;
  duration_ms: number | null;
}

interface Named {
  id: NodeId;
  namespace: string;
  name: string;
  label: string;
  description: string | null;
  tags: string[];
}

export interface DatasetSummary extends Named {
  type: "DATASET";
  fields: Field[];
  updated_at: string | null;
  version_count: number;
}

export interface JobSummary extends Named {
  type: "JOB";
  parent: NodeId | null;
  last_run: LastRun | null;
}

export interface Placed {
  hop: number;
  hidden_upstream: number;
  hidden_downstream: number;
}

export type LineageNode = (DatasetSummary & Placed) | (JobSummary & Placed);

export interface LineageEdge {
  source: NodeId;
  target: NodeId;
  origin: "OBSERVED" | "DECLARED" | "MANUAL";
  first_seen: string | null;
  last_seen: string | null;
}

export interface Transformation {
  type: "DIRECT" | "INDIRECT";
  subtype: string | null;
  masking: boolean | null;
  description: string | null;
}

export interface ColumnEdge {
  source: NodeId;
  source_field: string | null;
  target: NodeId;
  target_field: string | null;
  job: NodeId | null;
  origin: string;
  transformations: Transformation[];
}

export interface Lineage {
  root: NodeId;
  direction: "both" | "upstream" | "downstream";
  depth: number;
  as_of: string;
  nodes: LineageNode[];
  edges: LineageEdge[];
  column_edges: ColumnEdge[];
  hidden: { nodes: number; reason: string | null };
}

export interface SearchResult {
  id: NodeId;
  type: "DATASET" | "JOB";
  namespace: string;
  name: string;
  label: string;
  matched: "name" | "column" | "tag" | "owner" | "namespace" | "description" | "sql";
  detail: string | null;
}

export interface SearchAnswer {
  total: number;
  results: SearchResult[];
}

export interface DatasetList {
  total: number;
  datasets: DatasetSummary[];
}

export interface JobList {
  total: number;
  jobs: JobSummary[];
}

export interface Owner {
  name: string;
  type: string | null;
}

export type Facets = Record<string, unknown>;

export interface Version {
  id: string;
  created_at: string;
  run_id: string | null;
  job: NodeId | null;
  external_version: string | null;
  lifecycle: string | null;
  rows: number | null;
  bytes: number | null;
  files: number | null;
  fields: Field[];
  schema_changed: boolean;
}

export interface Dataset {
  id: NodeId;
  type: "DATASET";
  namespace: string;
  name: string;
  label: string;
  description: string | null;
  tags: string[];
  owners: Owner[];
  first_seen: string | null;
  updated_at: string | null;
  fields: Field[];
  facets: Facets;
  versions: Version[];
  producers: NodeId[];
  consumers: NodeId[];
}

export interface RunReference {
  run_id: string;
  job: NodeId;
}

export interface Run {
  id: string;
  job: NodeId;
  state: RunState;
  effective_state: RunState;
  started_at: string | null;
  ended_at: string | null;
  duration_ms: number | null;
  nominal_start: string | null;
  nominal_end: string | null;
  parent: RunReference | null;
  error: string | null;
}

export interface Job {
  id: NodeId;
  type: "JOB";
  namespace: string;
  name: string;
  label: string;
  parent: NodeId | null;
  children: NodeId[];
  description: string | null;
  tags: string[];
  owners: Owner[];
  first_seen: string | null;
  inputs: NodeId[];
  outputs: NodeId[];
  facets: Facets;
  runs: Run[];
}

export interface RunInput {
  dataset: NodeId;
  version_id: string | null;
  external_version: string | null;
  written_by: RunReference | null;
  facets: Facets;
}

export interface RunOutput {
  dataset: NodeId;
  version_id: string | null;
  external_version: string | null;
  rows: number | null;
  bytes: number | null;
  files: number | null;
  facets: Facets;
}

export interface RunDetail extends Run {
  facets: Facets;
  job_facets: Facets;
  inputs: RunInput[];
  outputs: RunOutput[];
  children: Run[];
  parameters: Record<string, unknown>;
  code: { version: string | null; url: string | null; dirty: boolean | null } | null;
}

export interface Status {
  version: string;
  started_at: string;
  database: { ok: boolean; version: string | null; size_bytes: number | null };
  events: { total: number; last_received_at: string | null };
  counts: { datasets: number; jobs: number; runs: number };
}
