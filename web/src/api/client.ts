// Questions to the server, typed by its own OpenAPI document (schema.d.ts, written by scripts/api-types).
import type { paths } from "./schema.d.ts";

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly detail: Record<string, unknown> = {},
  ) {
    super(message);
  }
  /** No answer, or a proxy's in the server's place: it is down. A server whose database is away says so itself. */
  get unreachable() {
    return this.status === 0 || (this.passing && this.code === NOT_JSON);
  }
  /** Asked again a little later, it may be answered. */
  get passing() {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

const NOT_JSON = "not_json";

type Method = "get" | "post" | "put" | "delete";
/** The paths that have a method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P][M];
type Json<T> = T extends { content: { "application/json": infer Body } } ? Body : undefined;
export type Answer<P extends keyof paths, M extends Method = "get"> =
  Operation<P, M> extends { responses: infer R } ? Json<R[keyof R & (200 | 201)]> : never;
type Part<P extends keyof paths, M extends Method, K extends string> =
  Operation<P, M> extends { parameters: infer A } ? (K extends keyof A ? NonNullable<A[K]> : never) : never;
type BodyOf<P extends keyof paths, M extends Method> =
  Operation<P, M> extends { requestBody?: infer B } ? Json<NonNullable<B>> : undefined;

/** Query values may be null here: null is left out. */
type Loose<T> = { [K in keyof T]?: T[K] | null };
export type Arguments<P extends keyof paths, M extends Method = "get"> = {
  path?: Part<P, M, "path"> extends never ? never : { [K in keyof Part<P, M, "path">]: string };
  query?: Part<P, M, "query"> extends never ? never : Loose<Part<P, M, "query">>;
  /** Fields that have a default on the server may be left out. */
  body?: Partial<BodyOf<P, M>>;
};

type Loosest = { path?: Record<string, string>; query?: Record<string, unknown>; body?: unknown };

export function addressOf(template: string, { path = {}, query = {} }: Loosest): URL {
  const filled = template.replace(/\{(\w+)(?::\w+)?\}/g, (_, key: string) => encodeURIComponent(path[key] ?? ""));
  // Relative to the page's base, so a proxy's sub-path works.
  const url = new URL(filled.slice(1), document.baseURI);
  for (const [key, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(key, String(one));
  }
  return url;
}

async function ask(method: Method, template: string, given: Loosest, signal?: AbortSignal): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(addressOf(template, given), {
      method: method.toUpperCase(),
      signal,
      headers: {
        accept: "application/json",
        ...(given.body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: given.body === undefined ? undefined : JSON.stringify(given.body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError("The Headwater server does not answer.", 0, "unreachable");
  }
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    throw new ApiError(`The server answered ${response.status} without JSON.`, response.status, NOT_JSON);
  }
  if (!response.ok) {
    const { message, code, detail } = body as { message?: string; code?: string; detail?: Record<string, unknown> };
    throw new ApiError(message ?? `The server answered ${response.status}.`, response.status, code ?? "error", detail);
  }
  return body;
}

export const get = <P extends PathOf<"get">>(path: P, given: Arguments<P> = {}, signal?: AbortSignal) =>
  ask("get", path, given as Loosest, signal) as Promise<Answer<P>>;

export const send = <M extends "post" | "put" | "delete", P extends PathOf<M>>(
  method: M,
  path: P,
  given: Arguments<P, M> = {},
  signal?: AbortSignal,
) => ask(method, path, given as Loosest, signal) as Promise<Answer<P, M>>;
