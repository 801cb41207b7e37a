// The whole page of a file without a server: a search, what is shown, the drawing.
import { useCallback, useMemo, useState } from "react";
import { GraphView } from "../graph/graph-view.tsx";
import type { ColumnLink, FieldRef, Graph } from "../graph/model.ts";
import { bareName } from "../names.ts";
import { found } from "./search.ts";

export interface OfflineLineage {
  title: string;
  /** How far the texts were understood, in words. */
  summary: string;
  graph: Graph;
}

type Theme = "light" | "dark";

/** The file has no sources of an edge: it came out of the texts that the file was made from. */
const explain = (source: string, target: string, link: ColumnLink | null) =>
  link
    ? [
        `${link.sourceField ?? "all"} → ${link.targetField ?? "all"}`,
        link.indirect ? "indirect: filter, join" : "direct",
      ]
    : [`${bareName(source)} → ${bareName(target)}`];
const NOTHING = () => undefined;

export function OfflinePage({ lineage }: { lineage: OfflineLineage }) {
  const { graph, title, summary } = lineage;
  const [selected, select] = useState<string | null>(null);
  const [pinned, setPinned] = useState<FieldRef | null>(null);
  const [columns, setColumns] = useState(true);
  const [indirect, setIndirect] = useState(false);
  const [theme, setTheme] = useState<Theme>(() =>
    matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  );
  const [text, setText] = useState("");
  const hits = useMemo(() => found(graph, text), [graph, text]);
  const route = useMemo(() => (text.trim() ? new Set(hits.map((hit) => hit.node)) : null), [text, hits]);
  const pin = useCallback((field: FieldRef | null) => {
    setPinned((before) =>
      before && field && before.node === field.node && before.field === field.field ? null : field,
    );
  }, []);
  document.documentElement.dataset.theme = theme;

  return (
    <main className="offline">
      <header>
        <h1>{title}</h1>
        <span className="soft">{summary}</span>
        <label>
          <span className="sr-only">Search a table or a column</span>
          <input
            type="search"
            placeholder="Table or column"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <Toggle name="columns" value={columns} set={setColumns} />
        <Toggle name="indirect" value={indirect} set={setIndirect} />
        <Toggle name="dark" value={theme === "dark"} set={(dark) => setTheme(dark ? "dark" : "light")} />
        {pinned && (
          <button type="button" onClick={() => setPinned(null)}>
            Stop tracing {pinned.field}
          </button>
        )}
      </header>
      {text.trim() && (
        <ul className="hits" aria-label="Found">
          {hits.slice(0, 30).map((hit) => (
            <li key={`${hit.node}\n${hit.field ?? ""}`}>
              <button
                type="button"
                onClick={() => {
                  select(hit.node);
                  setPinned(hit.field === null ? null : { node: hit.node, field: hit.field });
                }}
              >
                {hit.field === null ? hit.title : `${hit.title} · ${hit.field}`}
              </button>
            </li>
          ))}
          {hits.length === 0 && <li className="soft">Nothing is called so.</li>}
          {hits.length > 30 && <li className="soft">and {hits.length - 30} more</li>}
        </ul>
      )}
      <GraphView
        graph={graph}
        columns={columns}
        indirect={indirect}
        selected={selected}
        pinned={pinned}
        route={route}
        legend={null}
        theme={theme}
        onSelect={select}
        onField={pin}
        onRoot={select}
        onHidden={NOTHING}
        onFold={NOTHING}
        explain={explain}
        onEdge={NOTHING}
      />
    </main>
  );
}

function Toggle({ name, value, set }: { name: string; value: boolean; set(value: boolean): void }) {
  return (
    <label className="toggle">
      <input type="checkbox" checked={value} onChange={(event) => set(event.target.checked)} /> {name}
    </label>
  );
}
