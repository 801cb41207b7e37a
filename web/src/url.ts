// Everything the page shows is a function of the address: a link is a view, reload shows the same, back goes back.
// Only the query string is used, so the page works under any path a proxy gives it.
import { useSyncExternalStore } from "react";

export type Direction = "both" | "upstream" | "downstream";
export type Theme = "light" | "dark";

export interface UrlState {
  /** Node id the graph starts from; null is the start page. */
  node: string | null;
  depth: number;
  direction: Direction;
  columns: boolean;
  indirect: boolean;
  /** Node id shown in the panel. */
  selected: string | null;
  /** A column of `selected`, traced through the graph. */
  field: string | null;
  tab: string | null;
  run: string | null;
  /** ISO-8601 UTC; null is now. */
  asOf: string | null;
  theme: Theme | null;
  q: string;
}

export const MAX_DEPTH = 100;

export const BLANK: UrlState = {
  node: null,
  depth: 3,
  direction: "both",
  columns: false,
  indirect: false,
  selected: null,
  field: null,
  tab: null,
  run: null,
  asOf: null,
  theme: null,
  q: "",
};

export function parse(search: string): UrlState {
  const params = new URLSearchParams(search);
  const text = (key: string) => params.get(key) || null;
  const depth = Number.parseInt(params.get("depth") ?? "", 10);
  const direction = params.get("direction");
  const theme = params.get("theme");
  const asOf = text("asOf");
  return {
    node: text("node"),
    depth: Number.isFinite(depth) ? Math.min(Math.max(depth, 0), MAX_DEPTH) : BLANK.depth,
    direction: direction === "upstream" || direction === "downstream" ? direction : "both",
    columns: params.get("columns") === "1",
    indirect: params.get("indirect") === "1",
    selected: text("selected"),
    field: text("field"),
    tab: text("tab"),
    run: text("run"),
    asOf: asOf && !Number.isNaN(Date.parse(asOf)) ? asOf : null,
    theme: theme === "light" || theme === "dark" ? theme : null,
    q: params.get("q") ?? "",
  };
}

/** The query string without what is at its default; `:` and `/` stay readable, they are legal there. */
export function format(state: UrlState): string {
  const params = new URLSearchParams();
  for (const key of Object.keys(BLANK) as (keyof UrlState)[]) {
    const value = state[key];
    if (value === BLANK[key] || value === null || value === "") continue;
    params.set(key, value === true ? "1" : value === false ? "0" : String(value));
  }
  const query = params.toString().replaceAll("%3A", ":").replaceAll("%2F", "/");
  return query ? `?${query}` : "";
}

const listeners = new Set<() => void>();
let search = typeof location === "undefined" ? "" : location.search;
let state = parse(search);

function refresh() {
  if (location.search !== search) {
    search = location.search;
    state = parse(search);
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  if (listeners.size === 0) addEventListener("popstate", refresh);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) removeEventListener("popstate", refresh);
  };
}

/** `replace` for what should not make a step back of its own (typing, a theme). */
export function navigate(patch: Partial<UrlState>, options: { replace?: boolean } = {}) {
  const next = format({ ...state, ...patch });
  if (next === format(state)) return;
  const address = location.pathname + next;
  if (options.replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  refresh();
}

export function useUrl(): UrlState {
  return useSyncExternalStore(subscribe, () => state);
}

/** An address to link to, so that a node opens in a new tab too. */
export function href(patch: Partial<UrlState>): string {
  return format({ ...state, ...patch }) || "?";
}
