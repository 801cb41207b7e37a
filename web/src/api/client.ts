// One function per question of the API. Addresses are relative to the page's base, so a sub-path works.
import type { Dataset, DatasetList, Job, JobList, Lineage, NodeId, RunDetail, SearchAnswer, Status } from "./types.ts";

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
  ) {
    super(message);
  }
  /** No answer at all: the server is down or unreachable, as opposed to an answer we do not like. */
  get unreachable() {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

type Query = Record<string, string | number | boolean | null | undefined>;

async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const url = new URL(`api/v2/${path}`, document.baseURI);
  for (const [key, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(key, String(value));
  let response: Response;
  try {
    response = await fetch(url, { signal, headers: { accept: "application/json" } });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError("The Headwater server does not answer.", 0, "unreachable");
  }
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    throw new ApiError(`The server answered ${response.status} without JSON.`, response.status, "not_json");
  }
  if (!response.ok) {
    const { message, code } = body as { message?: string; code?: string };
    throw new ApiError(message ?? `The server answered ${response.status}.`, response.status, code ?? "error");
  }
  return body as T;
}

/** `dataset:{namespace}:{name}`: the border between namespace and name is not in the id (both may hold colons). */
export type Reference = { namespace: string; name: string };

const segments = ({ namespace, name }: Reference) => `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;

export interface LineageQuestion {
  node: NodeId;
  direction: "both" | "upstream" | "downstream";
  depth: number;
  columns: boolean;
  asOf: string | null;
}

export const api = {
  lineage: (question: LineageQuestion, signal?: AbortSignal) =>
    get<Lineage>(
      "lineage",
      {
        node: question.node,
        direction: question.direction,
        depth: question.depth,
        columns: question.columns,
        as_of: question.asOf,
      },
      signal,
    ),
  // These are of now: the server has no search or list as of another time.
  search: (q: string, signal?: AbortSignal) => get<SearchAnswer>("search", { q, limit: 20 }, signal),
  datasets: (limit: number, signal?: AbortSignal) => get<DatasetList>("datasets", { limit }, signal),
  jobs: (limit: number, signal?: AbortSignal) => get<JobList>("jobs", { limit }, signal),
  dataset: (reference: Reference, asOf: string | null, signal?: AbortSignal) =>
    get<Dataset>(`datasets/${segments(reference)}`, { as_of: asOf }, signal),
  job: (reference: Reference, asOf: string | null, signal?: AbortSignal) =>
    get<Job>(`jobs/${segments(reference)}`, { as_of: asOf }, signal),
  run: (id: string, signal?: AbortSignal) => get<RunDetail>(`runs/${encodeURIComponent(id)}`, {}, signal),
  status: (signal?: AbortSignal) => get<Status>("status", {}, signal),
};
