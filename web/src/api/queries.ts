// Questions as React Query hooks: caching, retry and cancelling live here and nowhere else.
import {
  keepPreviousData,
  MutationCache,
  QueryClient,
  queryOptions,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { type Answer, ApiError, type Arguments, get, type PathOf, send } from "./client.ts";
import { isEmbedded } from "../embedded.ts";
import { askToSignIn } from "./session.ts";
import { ofNames } from "./types.ts";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // An answer such as 404 will not change by asking again; silence may.
      retry: (failures, error) => error instanceof ApiError && error.passing && failures < 1,
      retryDelay: 400,
      refetchOnWindowFocus: false,
      // On a machine without a network the server on localhost still answers.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
  mutationCache: new MutationCache(),
});

export const question = <P extends PathOf<"get">>(path: P, given: Arguments<P> = {}) =>
  queryOptions({
    queryKey: [path, given] as const,
    queryFn: ({ signal }: { signal: AbortSignal }): Promise<Answer<P>> => get(path, given, signal),
  });

/** Asks before the page that needs the answer is drawn: for the loader of its route. */
export const askAhead = <P extends PathOf<"get">>(path: P, given: Arguments<P> = {}) =>
  void queryClient.prefetchQuery(question(path, given));

/** A dataset becomes late, and a run lost, without any event. */
export const LATE = 60_000;

interface Options {
  enabled?: boolean;
  /** Show the answer before while the next one is under way: for paging and typing. */
  keep?: boolean;
  /** Ask again after so many milliseconds, for what the clock changes; what writes change the server tells (stale.ts). */
  every?: number | false;
}

/** Asks a question; the key is the question itself. */
export function useAsk<P extends PathOf<"get">>(path: P, given: Arguments<P> = {}, options: Options = {}) {
  return useQuery({
    ...question(path, given),
    enabled: options.enabled,
    placeholderData: options.keep ? (keepPreviousData as never) : undefined,
    refetchInterval: options.every,
  });
}

/** Asks a question that is too long for an address: sent as a body, cached like any other. */
export const useAskByBody = <P extends PathOf<"post">>(path: P, body: Arguments<P, "post">["body"], enabled: boolean) =>
  useQuery({
    queryKey: [path, { body }] as const,
    queryFn: ({ signal }): Promise<Answer<P, "post">> => send("post", path, { body } as Arguments<P, "post">, signal),
    enabled,
  });

/** Sends a change, and lets every answer be asked again, because much may follow from it. */
export function useSend<M extends "post" | "put" | "delete", P extends PathOf<M>>(method: M, path: P) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (given: Arguments<P, M>): Promise<Answer<P, M>> => send(method, path, given),
    onSuccess: () => client.invalidateQueries(),
  });
}

export interface Reference {
  id: string;
  namespace: string;
  name: string;
  type: "DATASET" | "JOB";
}

/** The namespace and name of a node id: the border between them is not in the id, as both may hold colons. */
export function useReference(id: string) {
  return useQuery({
    queryKey: ["reference", id],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<Reference> => {
      const self = await get("/api/v2/lineage", { query: { node: id, depth: 0, max_nodes: 1 } }, signal);
      const [node] = ofNames(self).nodes;
      if (!node) throw new Error(`${id} is no dataset and no job`);
      return { id: node.id, namespace: node.namespace, name: node.name, type: node.type };
    },
  });
}

/** A list that tells the namespaces and names of nodes spares the question for each. */
export function remember(nodes: Iterable<{ id: string; namespace: string; name: string }>) {
  for (const { id, namespace, name } of nodes) {
    if (queryClient.getQueryData(["reference", id])) continue;
    queryClient.setQueryData(["reference", id], {
      id,
      namespace,
      name,
      type: id.startsWith("job:") ? "JOB" : "DATASET",
    } satisfies Reference);
  }
}

export const useDataset = (reference: Reference | undefined, asOf: string | null) =>
  useAsk(
    "/api/v2/datasets/{namespace}/{name}",
    { path: reference ?? { namespace: "", name: "" }, query: { as_of: asOf } },
    { enabled: reference !== undefined },
  );

export const useJob = (reference: Reference | undefined, asOf: string | null) =>
  useAsk(
    "/api/v2/jobs/{namespace}/{name}",
    { path: reference ?? { namespace: "", name: "" }, query: { as_of: asOf } },
    { enabled: reference !== undefined },
  );

export const useRun = (id: string) => useAsk("/api/v2/runs/{run_id}", { path: { run_id: id } });

/** Who am I, and what may I do. On an open server everyone may everything. */
export function useMe() {
  const me = useAsk("/auth/me");
  // A frame offers no change: a page around it could trick a person into one.
  return isEmbedded && me.data ? { ...me, data: { ...me.data, role: "read" } } : me;
}

/** Where to sign in; asked only after a question was answered with 401. */
export const useSignIn = (refused: unknown) =>
  useQuery({
    queryKey: ["sign-in"],
    queryFn: ({ signal }) => askToSignIn(signal),
    enabled: refused instanceof ApiError && refused.status === 401,
  });
