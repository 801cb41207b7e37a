// Short names for the shapes of the API that several pages use. All of them are the server's own (schema.d.ts).
import type { Answer } from "./client.ts";
import type { components } from "./schema.d.ts";

type Schemas = components["schemas"];

export type NodeId = string;
export type LineageAnswer = Answer<"/api/v2/lineage">;
export type LineageNode = LineageAnswer["nodes"][number];
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
