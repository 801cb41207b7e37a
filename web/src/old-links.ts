// Links from before the page had paths: all state was in the query string of "/".

import { toPath } from "./path-names.ts";

/** The address that an old link means, relative to the page's base; null if it is none. */
export function translateOldLink(search: string): string | null {
  const params = new URLSearchParams(search);
  const node = params.get("node");
  if (!node) return null;
  params.delete("node");
  params.delete("q");
  if (params.get("selected") === node && !params.has("tab") && !params.has("run")) params.delete("selected");
  for (const key of ["columns", "indirect"]) if (params.get(key) === "1") params.set(key, "true");
  const run = params.get("run");
  params.delete("run");
  params.delete("tab");
  const query = params.toString();
  if (run) return `runs/${encodeURIComponent(toPath(run))}`;
  return `lineage/${encodeURIComponent(toPath(node))}${query ? `?${query}` : ""}`;
}

export function redirectOldLink() {
  const base = new URL(document.baseURI);
  if (location.pathname !== base.pathname) return;
  const to = translateOldLink(location.search);
  if (to) history.replaceState(null, "", new URL(to, base));
}
