// The questions as React Query hooks: caching, retry and cancelling live here and nowhere else.
import { keepPreviousData, QueryClient, useQuery } from "@tanstack/react-query";
import { ApiError, api, type LineageQuestion, type Reference } from "./client.ts";
import { askToSignIn } from "./session.ts";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // An answer such as 404 will not change by asking again; silence may.
      retry: (failures, error) => error instanceof ApiError && error.unreachable && failures < 1,
      retryDelay: 400,
      refetchOnWindowFocus: false,
      // On a machine without a network the server on localhost still answers.
      networkMode: "always",
    },
  },
});

export const useLineage = (question: LineageQuestion) =>
  useQuery({
    queryKey: ["lineage", question],
    queryFn: ({ signal }) => api.lineage(question, signal),
    placeholderData: keepPreviousData,
  });

export const useSearch = (q: string) =>
  useQuery({
    queryKey: ["search", q],
    queryFn: ({ signal }) => api.search(q, signal),
    enabled: q.trim() !== "",
    placeholderData: keepPreviousData,
  });

export const useDatasets = (limit: number) =>
  useQuery({ queryKey: ["datasets", limit], queryFn: ({ signal }) => api.datasets(limit, signal) });

export const useJobs = (limit: number) =>
  useQuery({ queryKey: ["jobs", limit], queryFn: ({ signal }) => api.jobs(limit, signal) });

export const useDataset = (reference: Reference, asOf: string | null) =>
  useQuery({
    queryKey: ["dataset", reference.namespace, reference.name, asOf],
    queryFn: ({ signal }) => api.dataset(reference, asOf, signal),
  });

export const useJob = (reference: Reference, asOf: string | null) =>
  useQuery({
    queryKey: ["job", reference.namespace, reference.name, asOf],
    queryFn: ({ signal }) => api.job(reference, asOf, signal),
  });

export const useRun = (id: string) => useQuery({ queryKey: ["run", id], queryFn: ({ signal }) => api.run(id, signal) });

export const useStatus = () => useQuery({ queryKey: ["status"], queryFn: ({ signal }) => api.status(signal) });

/** Where to sign in; asked only after a question was answered with 401. */
export const useSignIn = (refused: unknown) =>
  useQuery({
    queryKey: ["sign-in"],
    queryFn: ({ signal }) => askToSignIn(signal),
    enabled: refused instanceof ApiError && refused.status === 401,
  });
