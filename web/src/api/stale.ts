// What the server calls out of date is asked again: it says so over one stream (server-sent events), and nothing is asked by the clock.
import type { QueryClient } from "@tanstack/react-query";

/** The kinds of answers that a path's answer belongs to; the server's names (answer/stale.py). The first that fits counts. */
const KINDS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^\/auth\//, []],
  [/^\/api\/v2\/(alerts|rules|admin\/alert-channels)/, ["alerts"]],
  [/^\/api\/v2\/admin\//, ["settings"]],
  [/^\/api\/v2\/(plans|restores)/, ["plans"]],
  [/^\/api\/v2\/(open-incident|incidents|overview|freshness|slower|stale-lineage|suspects)/, ["incidents"]],
  [/^\/api\/v2\/(entities|instances|entity-)/, ["instances"]],
  [/^\/api\/v2\/(usage|cost|recurrence|pruning|quality|coverage)/, ["usage"]],
  [/^\/api\/v2\/(status|receipts|producers|update-log)/, ["events"]],
  [/^\/api\/v2\/(runs|jobs\/.*\/durations)/, ["runs"]],
  [/^\/api\/v2\/(lineage|paths|conflicts|perspectives|correlation|entity-graph)/, ["lineage"]],
  [/^\/api\/v2\/(datasets|jobs|search|resolve|objects|sources)/, ["catalogue"]],
];

/** Whether the answer to a question is out of date; `key` as queries.ts makes it. Unknown questions always are, those about the past never. */
export function isStale(key: readonly unknown[], stale: ReadonlySet<string>): boolean {
  const [path, given] = key;
  if (typeof path !== "string" || !path.startsWith("/")) return false;
  if ((given as { query?: { as_of?: unknown } } | undefined)?.query?.as_of) return false;
  const found = KINDS.find(([pattern]) => pattern.test(path));
  return found ? found[1].some((kind) => stale.has(kind)) : true;
}

/** Milliseconds to the next attempt after so many failures; `random` from 0 to 1, so that pages do not come back all at once. */
export const pause = (failures: number, random: number) => Math.min(60_000, 1000 * 2 ** failures) * (0.5 + random / 2);

const EVERYTHING = new Set(KINDS.flatMap(([, kinds]) => kinds));
/** Asking again takes at most this share of the time. */
const SHARE = 5;
const LEAST_REST = 1000;
/** From this pause on, the page is asked again at each attempt: a proxy may let no stream through. */
const BLIND = 30_000;

/** Follows the stream while the page is in view, from now on. Says through `onState` whether it hears the server. */
export function followStale(client: QueryClient, onState: (hears: boolean) => void): () => void {
  let source: EventSource | null = null;
  let mark: string | null = null;
  let failures = 0;
  let timer = 0;
  let ended = false;
  const waiting = new Set<string>();
  let asking = false;

  async function askAgain(kinds: Iterable<string>) {
    for (const kind of kinds) waiting.add(kind);
    if (asking) return;
    asking = true;
    while (waiting.size > 0 && !ended) {
      const stale = new Set(waiting);
      waiting.clear();
      const began = performance.now();
      await client.invalidateQueries({ predicate: ({ queryKey }) => isStale(queryKey, stale) });
      const rest = Math.max(LEAST_REST, SHARE * (performance.now() - began));
      await new Promise((resolve) => setTimeout(resolve, rest));
    }
    asking = false;
  }

  function open() {
    const url = new URL("api/v2/events/stream", document.baseURI);
    if (mark !== null) url.searchParams.set("after", mark);
    // What the page asked before this may have changed since.
    else url.searchParams.set("recent", String(Math.min(3600, Math.ceil(performance.now() / 1000) + 2)));
    source = new EventSource(url);
    source.addEventListener("stale", ({ lastEventId, data }: MessageEvent<string>) => {
      mark = lastEventId;
      failures = 0;
      onState(true);
      void askAgain((JSON.parse(data) as { stale: string[] }).stale);
    });
    source.onerror = () => {
      // The browser's own attempts do not slow down, and end at the first refusal.
      close();
      onState(false);
      const wait = pause(failures++, Math.random());
      if (wait >= BLIND) void askAgain(EVERYTHING);
      timer = window.setTimeout(open, wait);
    };
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  const look = () => {
    if (document.visibilityState === "hidden") close();
    else if (source === null) {
      clearTimeout(timer);
      open();
    }
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    ended = true;
    document.removeEventListener("visibilitychange", look);
    close();
  };
}
