// What is open about each dataset and job, for lists and drawings: the kind of incident it is the cause of, or hit by.
import { useMemo } from "react";
import { useAsk } from "./queries.ts";

const MOST = 1000;

/** Node id → kind, the worst first found. */
export function useTroubles(enabled = true): ReadonlyMap<string, string> {
  const open = useAsk("/api/v2/open-incidents", { query: { limit: MOST } }, { enabled, every: 60_000 });
  return useMemo(() => {
    const found = new Map<string, string>();
    // The worst kind comes first; what an incident is about itself counts before what others hit.
    for (const { kind, id, cause } of open.data?.incidents ?? [])
      for (const one of [id, cause.id]) if (!found.has(one)) found.set(one, kind);
    for (const { hit } of open.data?.incidents ?? [])
      for (const { id, kind } of hit) if (!found.has(id)) found.set(id, kind);
    return found;
  }, [open.data]);
}
