// What is open about each dataset and job, for lists and drawings: the incident that it is the cause of, or hit by.
import { useMemo } from "react";
import type { Answer } from "./client.ts";
import { useAsk } from "./queries.ts";

const MOST = 1000;

/** `incident`: the id under which the server tells all about it. */
export interface OpenTrouble {
  kind: string;
  incident: string;
}
export type Troubles = ReadonlyMap<string, OpenTrouble>;

/** Node id → the worst that is open about it. */
export function troublesOf(incidents: Answer<"/api/v2/open-incidents">["incidents"]): Troubles {
  const found = new Map<string, OpenTrouble>();
  // The worst kind comes first; what an incident is about itself counts before what others hit.
  for (const { kind, id, cause } of incidents)
    for (const one of [id, cause.id]) if (!found.has(one)) found.set(one, { kind, incident: id });
  for (const incident of incidents)
    for (const { id, kind } of incident.hit) if (!found.has(id)) found.set(id, { kind, incident: incident.id });
  return found;
}

/** The question that `useTroubles` asks, for those who have to tell no trouble from no answer. */
export const useOpenIncidents = (enabled = true) =>
  useAsk("/api/v2/open-incidents", { query: { limit: MOST } }, { enabled, every: 60_000 });

export function useTroubles(enabled = true): Troubles {
  const open = useOpenIncidents(enabled);
  return useMemo(() => troublesOf(open.data?.incidents ?? []), [open.data]);
}
