// A node and its lineage: controls, drawing or table, inspector. Binds the address, the API and the graph together.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Activity, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { remember } from "../../api/queries.ts";
import { isTyping } from "../../frame/use-keys.ts";
import { GraphView, type GraphHandle } from "../../graph/graph-view.tsx";
import type { ColumnLink, FieldRef, Side } from "../../graph/model.ts";
import { plural } from "../../format.ts";
import { bareName } from "../../names.ts";
import { Copy } from "../../parts/copy.tsx";
import { Trouble } from "../../parts/message.tsx";
import type { TableState } from "../../parts/table.tsx";
import { Waiting } from "../../parts/waiting.tsx";
import { type Direction, type lineage as lineageSearch, type Only, only as onlyOf } from "../../search-params.ts";
import { useTheme } from "../../theme.ts";
import { Controls, Forms } from "./controls.tsx";
import { EdgeDetails } from "./edge-details.tsx";
import { explainEdge, explainLink } from "./explain.ts";
import { RecordDetails } from "./record-details.tsx";
import { askFor, isNamed, isRecord } from "./records.ts";
import { TimeBar } from "./time-bar.tsx";
import "./lineage.css";
import { exportsOf } from "./exports.ts";
import { GroupDetails } from "./group-details.tsx";
import { Inspector } from "./inspector.tsx";
import { Notices } from "./notices.tsx";
import { Twin } from "./twin.tsx";
import { isBundle, useLineageView } from "./use-lineage.ts";

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
  group: Search["group"];
  edge: readonly string[];
  times: boolean;
  since: string | null;
  to: string | null;
  filter: string;
  only: Only;
  /** The state of the graph as a table; null: it is drawn. */
  table: TableState | null;
  asOf: string | null;
}

const NONE: readonly string[] = [];
const route = getRouteApi("/lineage/$node");

function useAddress(): State {
  const { node } = route.useParams();
  const search = route.useSearch();
  const key = JSON.stringify(onlyOf(search));
  // The same object while the same is asked: a selection does not draw the controls anew.
  const only = useMemo(() => JSON.parse(key) as Only, [key]);
  const { view, page, without } = search;
  const table = useMemo(() => (view === "table" ? { page, without } : null), [view, page, without]);
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
    group: search.group,
    edge: search.edge?.length === 2 ? search.edge : NONE,
    times: search.times ?? false,
    since: search.since ?? null,
    to: search.to ?? null,
    filter: search.filter ?? "",
    only,
    table,
    asOf: search.asOf ?? null,
  };
}

export function LineagePage() {
  const state = useAddress();
  const { theme } = useTheme();
  const navigate = useNavigate();
  const handle = useRef<GraphHandle>(null);
  // Behind its table the drawing stays as it was left.
  const [wasDrawn, setDrawn] = useState(state.table === null);
  if (!wasDrawn && state.table === null) setDrawn(true);
  const shown = useLineageView(state);
  const { lineage, answer, folded, graph, grouped, lens } = shown;
  const latest = useRef({ state, graph, folded, grouped, answer, data: lineage.data });
  latest.current = { state, graph, folded, grouped, answer, data: lineage.data };

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
    (id: string) => {
      const now = latest.current;
      // A group or a bundle is no start: it is opened.
      if (now.grouped?.inside.has(id) || isBundle(id)) return change({ open: [...now.state.open, id] });
      const record = now.data?.nodes.find((one) => one.id === id);
      const node = record && isRecord(record) ? askFor(record) : id;
      if (node === null) return;
      const fresh = { selected: undefined, field: undefined, open: undefined, to: undefined, edge: undefined };
      void navigate({
        to: "/lineage/$node",
        params: { node },
        search: (old) => ({ ...old, ...fresh }) as never,
      });
    },
    [navigate, change],
  );
  const select = useCallback(
    (id: string | null) => {
      if (id !== latest.current.state.selected)
        change({ selected: id ?? undefined, field: undefined, edge: undefined });
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
      const { folded, grouped } = latest.current;
      const inside = folded?.inside.has(id) || grouped?.inside.has(id) || isBundle(id);
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
        if (now.edge.length) change({ edge: undefined });
        else if (now.field) change({ field: undefined });
        else if (now.selected) change({ selected: undefined });
        else if (now.to) change({ to: undefined });
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [change]);

  const goTo = useCallback(
    (at: string | undefined) =>
      void navigate({ to: ".", search: (now) => ({ ...now, asOf: at }) as never, replace: true }),
    [navigate],
  );
  const pinned = useMemo<FieldRef | null>(
    () => (state.columns && state.field ? { node: state.selected ?? state.node, field: state.field } : null),
    [state.columns, state.field, state.selected, state.node],
  );
  const explain = useCallback((source: string, target: string, link: ColumnLink | null) => {
    const { graph: drawn, folded, data } = latest.current;
    const names = new Map(drawn?.nodes.map((node) => [node.id, node.label]));
    const edges = folded?.column_edges ?? [];
    if (link) return explainLink(link, edges, names);
    const all = data?.nodes.some(isRecord) ? data.edges : (folded?.edges ?? []);
    const edge = all.find((one) => one.source === source && one.target === target);
    if (edge) return explainEdge(edge, names);
    const drawnEdge = drawn?.edges.find((one) => one.source === source && one.target === target);
    return [
      `${names.get(source) ?? source} → ${names.get(target) ?? target}`,
      `${plural(drawnEdge?.count ?? 1, "edge")} of the group`,
    ];
  }, []);
  const openEdge = useCallback(
    (source: string, target: string) => change({ edge: [source, target], selected: undefined, field: undefined }),
    [change],
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
  const listNodes = useCallback(() => latest.current.answer?.nodes ?? [], []);
  const record = lineage.data?.nodes.find((node) => node.id === state.selected);
  const bundle = answer?.bundles.find((one) => one.id === state.selected && !one.is_open);
  const isStart = lineage.data?.roots.includes(state.selected ?? "") ?? false;
  const own = state.node.startsWith("job:") ? "/jobs/$id/{-$tab}" : "/datasets/$id/{-$tab}";

  return (
    <main className={`lineage${state.selected || state.edge.length ? " has-inspector" : ""}`}>
      <div className="lineage-head">
        <h1 className="name">
          <span className="soft">Lineage of</span>{" "}
          {shown.records ? (
            <span title={state.node}>{lineage.data?.subject?.label ?? state.node}</span>
          ) : (
            <Link to={own} params={{ id: bareName(state.node), tab: undefined }} title={state.node}>
              {graph?.nodes.find((node) => node.id === state.node)?.label ?? bareName(state.node)}
            </Link>
          )}
        </h1>
        <Copy text={state.node} what="the id" />
        {graph && (
          <span className="soft count">
            {plural(graph.nodes.length, "node")}, {plural(graph.edges.length, "edge")}
            {state.columns && `, ${plural(graph.links.length, "column edge")}`}
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
        <Forms table={state.table !== null} change={change} exports={exports} />
      </div>
      <Controls state={state} change={change} records={shown.records !== null} listNodes={listNodes} />
      {state.times && !shown.records && <TimeBar state={state} change={change} asOf={goTo} />}
      <div className="stage">
        {lineage.data && lineage.data.candidates.length > 0 ? (
          <Candidates node={state.node} candidates={lineage.data.candidates} onRoot={start} />
        ) : graph && folded && !(lineage.error && lineage.isPlaceholderData) ? (
          <>
            {state.table && (
              <Twin
                graph={graph}
                selected={state.selected}
                state={state.table}
                onState={({ page, without }) => change({ page, without })}
                onSelect={select}
                onRoot={start}
              />
            )}
            {wasDrawn && (
              <Activity mode={state.table ? "hidden" : "visible"}>
                <GraphView
                  ref={handle}
                  graph={graph}
                  columns={shown.drawsColumns}
                  indirect={state.indirect}
                  selected={state.selected}
                  pinned={pinned}
                  route={shown.route}
                  legend={shown.records ? null : (lens?.legend ?? null)}
                  dotted={shown.records ? "guessed, or not followed" : undefined}
                  theme={theme}
                  onSelect={select}
                  onField={pin}
                  onRoot={start}
                  onHidden={reach}
                  onFold={fold}
                  explain={explain}
                  onEdge={openEdge}
                />
              </Activity>
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
      {state.edge.length > 0 && answer && (
        <EdgeDetails
          source={state.edge[0]}
          target={state.edge[1]}
          answer={shown.records && lineage.data ? { ...answer, edges: lineage.data.edges } : answer}
          asOf={state.asOf}
          close={() => change({ edge: undefined })}
        />
      )}
      {record && isRecord(record) && (
        <RecordDetails node={record} isStart={isStart} onRoot={start} close={() => change({ selected: undefined })} />
      )}
      {state.selected && grouped?.inside.has(state.selected) && (
        <GroupDetails
          id={state.selected}
          members={grouped.inside.get(state.selected)!}
          word="group"
          title={graph?.nodes.find((node) => node.id === state.selected)?.title ?? state.selected}
          open={() => fold(state.selected!)}
          close={() => change({ selected: undefined })}
        />
      )}
      {bundle && (
        <GroupDetails
          id={bundle.id}
          word="bundle"
          members={bundle.members}
          title={graph?.nodes.find((node) => node.id === bundle.id)?.title ?? bundle.label}
          open={() => fold(bundle.id)}
          close={() => change({ selected: undefined })}
        />
      )}
      {state.selected && answer && isNamed(state.selected) && (
        <Inspector id={state.selected} state={state} change={change} onRoot={start} onFold={fold} folded={folded} />
      )}
    </main>
  );
}

interface CandidatesProps {
  node: string;
  candidates: readonly { type: string; id: string; label: string }[];
  onRoot(id: string): void;
}

function Candidates({ node, candidates, onRoot }: CandidatesProps) {
  return (
    <div className="twin">
      <p>
        <b className="name">{node}</b> could be any of these:
      </p>
      <ul className="list">
        {candidates.map((one) => (
          <li key={`${one.type} ${one.id}`}>
            <button type="button" className="plain name" onClick={() => onRoot(one.id)}>
              {one.label}
            </button>
            <small className="soft">{one.type.toLowerCase()}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}
