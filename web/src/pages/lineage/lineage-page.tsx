// A node and its lineage: controls, drawing or table, inspector. Binds the address, the API and the graph together.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { remember } from "../../api/queries.ts";
import { isTyping } from "../../frame/use-keys.ts";
import { GraphView, type GraphHandle } from "../../graph/graph-view.tsx";
import type { FieldRef, Side } from "../../graph/model.ts";
import { bareName } from "../../names.ts";
import { Copy } from "../../parts/copy.tsx";
import { Trouble } from "../../parts/message.tsx";
import { Waiting } from "../../parts/waiting.tsx";
import type { lineage as lineageSearch, Direction } from "../../search-params.ts";
import { useTheme } from "../../theme.ts";
import { Controls } from "./controls.tsx";
import "./lineage.css";
import { exportsOf } from "./exports.ts";
import { Inspector } from "./inspector.tsx";
import { Notices } from "./notices.tsx";
import { Twin } from "./twin.tsx";
import { useLineageView } from "./use-lineage.ts";

type Search = ReturnType<typeof lineageSearch>;
export type Patch = (patch: Search, replace?: boolean) => void;

/** The address with its defaults filled in. */
export interface State {
  node: string;
  depth: number;
  direction: Direction;
  columns: boolean;
  indirect: boolean;
  selected: string | null;
  field: string | null;
  nodes: number;
  open: readonly string[];
  unfolded: boolean;
  lens: Search["lens"];
  since: string | null;
  to: string | null;
  filter: string;
  table: boolean;
  asOf: string | null;
}

const NONE: readonly string[] = [];
const route = getRouteApi("/lineage/$node");

function useAddress(): State {
  const { node } = route.useParams();
  const search = route.useSearch();
  return {
    node,
    depth: search.depth ?? 3,
    direction: search.direction ?? "both",
    columns: search.columns ?? false,
    indirect: search.indirect ?? false,
    selected: search.selected ?? null,
    field: search.field ?? null,
    nodes: search.nodes ?? 2000,
    open: search.open ?? NONE,
    unfolded: search.fold === "none",
    lens: search.lens,
    since: search.since ?? null,
    to: search.to ?? null,
    filter: search.filter ?? "",
    table: search.view === "table",
    asOf: search.asOf ?? null,
  };
}

export function LineagePage() {
  const state = useAddress();
  const { theme } = useTheme();
  const navigate = useNavigate();
  const handle = useRef<GraphHandle>(null);
  const shown = useLineageView(state);
  const { lineage, answer, folded, graph, lens } = shown;
  const latest = useRef({ state, graph, folded });
  latest.current = { state, graph, folded };

  useEffect(() => {
    document.title = `Lineage of ${bareName(state.node).slice(-70)} · Headwater`;
  }, [state.node]);
  useEffect(() => {
    if (answer) remember(answer.nodes);
  }, [answer]);

  const change = useCallback<Patch>(
    (patch, replace = false) => void navigate({ to: ".", search: (now) => ({ ...now, ...patch }) as never, replace }),
    [navigate],
  );
  const start = useCallback(
    (node: string) =>
      void navigate({
        to: "/lineage/$node",
        params: { node },
        search: (now) => ({ ...now, selected: undefined, field: undefined, open: undefined, to: undefined }) as never,
      }),
    [navigate],
  );
  const select = useCallback(
    (id: string | null) => {
      if (id !== latest.current.state.selected) change({ selected: id ?? undefined, field: undefined });
    },
    [change],
  );
  const pin = useCallback(
    (to: FieldRef | null) => change(to ? { field: to.field, selected: to.node } : { field: undefined }),
    [change],
  );
  // What is hidden beyond the border of the walk comes with one more hop; what lies across it needs a new start.
  const reach = useCallback(
    (id: string, side: Side) => {
      const now = latest.current;
      const hop = now.graph?.nodes.find((node) => node.id === id)?.hop ?? 0;
      const { direction, depth } = now.state;
      const along = side === "upstream" ? hop <= 0 && direction !== "downstream" : hop >= 0 && direction !== "upstream";
      if (along && Math.abs(hop) >= depth) change({ depth: depth + 1 });
      else start(id);
    },
    [change, start],
  );
  const fold = useCallback(
    (id: string) => {
      const open = new Set(latest.current.state.open);
      const inside = latest.current.folded?.inside.has(id);
      if (inside) open.add(id);
      else open.delete(id);
      change({ open: open.size ? [...open] : undefined });
    },
    [change],
  );

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const now = latest.current.state;
      if (event.key === "t") change({ view: now.table ? undefined : "table" });
      else if (event.key === "Escape") {
        // One thing at a time: the traced column, then the inspector, then the path.
        if (now.field) change({ field: undefined });
        else if (now.selected) change({ selected: undefined });
        else if (now.to) change({ to: undefined });
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [change]);

  const pinned = useMemo<FieldRef | null>(
    () => (state.columns && state.field ? { node: state.selected ?? state.node, field: state.field } : null),
    [state.columns, state.field, state.selected, state.node],
  );
  const exports = useMemo(
    () =>
      exportsOf(
        () => handle.current,
        () => latest.current.graph,
        answer,
      ),
    [answer],
  );
  const own = state.node.startsWith("job:") ? "/jobs/$id/{-$tab}" : "/datasets/$id/{-$tab}";

  return (
    <main className={`lineage${state.selected ? " has-inspector" : ""}`}>
      <div className="lineage-head">
        <h1 className="name">
          <span className="soft">Lineage of</span>{" "}
          <Link to={own} params={{ id: bareName(state.node), tab: undefined }} title={state.node}>
            {graph?.nodes.find((node) => node.id === state.node)?.label ?? bareName(state.node)}
          </Link>
        </h1>
        <Copy text={state.node} what="the id" />
        {graph && (
          <span className="soft count">
            {graph.nodes.length} nodes, {graph.edges.length} edges
            {state.columns && `, ${graph.links.length} column edges`}
          </span>
        )}
        {state.field && (
          <span className="chip">
            <span className="name">column {state.field}</span>
            <button
              type="button"
              className="plain"
              aria-label="Stop tracing the column"
              onClick={() => change({ field: undefined })}
            >
              ×
            </button>
          </span>
        )}
      </div>
      <Controls state={state} change={change} exports={exports} />
      <div className="stage">
        {graph && folded && !(lineage.error && lineage.isPlaceholderData) ? (
          <>
            {state.table ? (
              <Twin graph={graph} selected={state.selected} onSelect={select} onRoot={start} />
            ) : (
              <GraphView
                ref={handle}
                graph={graph}
                columns={state.columns}
                indirect={state.indirect}
                selected={state.selected}
                pinned={pinned}
                route={shown.route}
                legend={lens?.legend ?? null}
                opened={folded.opened}
                theme={theme}
                onSelect={select}
                onField={pin}
                onRoot={start}
                onHidden={reach}
                onFold={fold}
              />
            )}
            <Notices shown={shown} state={state} change={change} />
          </>
        ) : lineage.error ? (
          <Trouble error={lineage.error} retry={() => void lineage.refetch()} />
        ) : (
          <Waiting />
        )}
        {lineage.isFetching && <div className="progress" aria-hidden="true" />}
      </div>
      {state.selected && answer && (
        <Inspector id={state.selected} state={state} change={change} onRoot={start} onFold={fold} folded={folded} />
      )}
    </main>
  );
}
