// What the drawing does not show, in words and counted, each with the click that brings it.
import type { LineageAnswer, LineageNode } from "../../api/types.ts";
import { count, exact, plural } from "../../format.ts";
import { MOST_NODES } from "../../search-params.ts";
import { NO_FILTERS } from "./filters.tsx";
import { mistakesIn, type SelectableNode } from "./selection.ts";
import type { Patch, State } from "./lineage-page.tsx";
import { isBundle, type useLineageView } from "./use-lineage.ts";

type Shown = ReturnType<typeof useLineageView>;

export function Notices({ shown, state, change }: { shown: Shown; state: State; change: Patch }) {
  const { answer, lineage, path, difference, route, grouped, records } = shown;
  if (!answer) return null;
  // Of single runs nodes and edges are counted as they are drawn.
  const edges = records ? (lineage.data?.edges ?? []) : answer.edges;
  const closed = answer.bundles.filter((one) => !one.is_open);
  const openBundles = answer.bundles.filter((one) => one.is_open);
  const lines = [
    lineage.error && (
      <p role="alert" key="error">
        {lineage.error.message} What is shown may be out of date.{" "}
        <button type="button" className="plain" onClick={() => void lineage.refetch()}>
          Try again
        </button>
      </p>
    ),
    state.to && (
      <p key="path">
        {path.error
          ? path.error.message
          : !path.data
            ? "Looking for a path…"
            : path.data.paths.length === 0
              ? `There is no path between the two${path.data.reason ? ` (${path.data.reason})` : ""}.`
              : `${plural(path.data.total, "shortest path")} of ${plural(path.data.length ?? 0, "edge")}.`}{" "}
        <button type="button" className="plain" onClick={() => change({ to: undefined })}>
          Leave the path
        </button>
      </p>
    ),
    difference && (
      <p key="difference">
        Compared with {exact(state.since)}: {changed(difference.nodes, "node")}, {changed(difference.edges, "edge")}.
      </p>
    ),
    state.filter && route && (
      <p key="filter">
        {plural(route.size, "node")} of {answer.nodes.length} found.{" "}
        <button type="button" className="plain" onClick={() => change({ filter: undefined })}>
          Show all alike
        </button>
      </p>
    ),
    ...mistakesIn(state.filter).map((mistake) => (
      <p role="alert" key={mistake}>
        {mistake}
      </p>
    )),
    answer.filtered && (
      <p key="filtered">
        {plural(answer.filtered.nodes, "node")}
        {answer.filtered.edges > 0 && ` and ${plural(answer.filtered.edges, "edge")}`} left out by filters
        {answer.filtered.cut && "; too many ways lead through them: some edges are missing"}.{" "}
        <button type="button" className="plain" onClick={() => change(NO_FILTERS)}>
          Remove the filters
        </button>
      </p>
    ),
    ...(records ? (lineage.data?.notes ?? []) : []).map((note) => <p key={note}>{note}</p>),
    closed.length > 0 && (
      <p key="bundles">
        {plural(members(closed), "node")} that are alike{" "}
        {closed.length === 1 ? "is one card" : `are ${count(closed.length)} cards`}.{" "}
        <button
          type="button"
          className="plain"
          onClick={() => change({ open: [...state.open, ...closed.map((one) => one.id)] })}
        >
          Open {closed.length === 1 ? "it" : "them"}
        </button>
      </p>
    ),
    openBundles.length > 0 && (
      <p key="open-bundles">
        {plural(members(openBundles), "node")} that are alike are shown one by one.{" "}
        <button
          type="button"
          className="plain"
          onClick={() => change({ open: state.open.filter((id) => !isBundle(id)), selected: undefined })}
        >
          Draw them as {openBundles.length === 1 ? "one card" : `${count(openBundles.length)} cards`}
        </button>
      </p>
    ),
    grouped && grouped.opened.length > 0 && (
      <p key="groups">
        {plural(grouped.opened.length, "group is", "groups are")} open.{" "}
        <button type="button" className="plain" onClick={() => change({ open: undefined })}>
          Close {grouped.opened.length === 1 ? "it" : "them"}
        </button>
      </p>
    ),
    state.group && grouped && grouped.inside.size + grouped.opened.length === 0 && (
      <p key="no-groups">No two nodes here share a {state.group === "parent" ? "folder or DAG" : state.group}.</p>
    ),
    <Hidden
      key="hidden"
      answer={records ? { ...answer, nodes: records.nodes } : answer}
      state={state}
      change={change}
    />,
    edges.length === 0 && answer.hidden.nodes === 0 && !state.to && (
      <p key="none">
        No lineage {state.direction === "both" ? "" : `${state.direction} `}is known for this node
        {state.asOf ? " at that time" : ""}.
      </p>
    ),
  ].filter(Boolean);
  return (
    <div className="notices" role="status">
      {lines}
    </div>
  );
}

const members = (bundles: readonly { count: number }[]) => bundles.reduce((sum, one) => sum + one.count, 0);

function changed(changes: ReadonlyMap<string, string>, what: string) {
  const by = (word: string) => [...changes.values()].filter((change) => change === word).length;
  const parts = (["added", "gone", "changed"] as const).flatMap((word) => (by(word) ? [`${by(word)} ${word}`] : []));
  return parts.length ? `${what}s: ${parts.join(", ")}` : `no ${what} changed`;
}

interface HiddenProps {
  answer: Pick<LineageAnswer, "hidden"> & { nodes: readonly (LineageNode | SelectableNode)[] };
  state: State;
  change: Patch;
}

const beyond = (node: LineageNode | SelectableNode, side: "upstream" | "downstream") =>
  "hiddenUpstream" in node
    ? side === "upstream"
      ? node.hiddenUpstream
      : node.hiddenDownstream
    : side === "upstream"
      ? node.hidden_upstream
      : node.hidden_downstream;

function Hidden({ answer, state, change }: HiddenProps) {
  const { nodes, reason, at_least } = answer.hidden;
  if (reason?.startsWith("max_nodes")) {
    const all = state.nodes + nodes;
    // Cards are more than nodes of the answer where jobs are folded: the answer itself is counted.
    const next = at_least ? Math.min(state.nodes * 5, MOST_NODES) : Math.min(all, MOST_NODES);
    return (
      <p>
        The nearest {count(state.nodes)} nodes of {at_least ? "more than " : ""}
        {count(all)} are shown; {at_least ? "at least " : ""}
        {plural(nodes, "node is", "nodes are")} left out.{" "}
        {state.nodes < MOST_NODES ? (
          <button type="button" className="plain" onClick={() => change({ nodes: next })}>
            {at_least || next < all ? `Show up to ${count(next)}` : `Show all ${count(all)}`}
          </button>
        ) : (
          "Start nearer to what you look for."
        )}
      </p>
    );
  }
  const up = answer.nodes.filter((node) => beyond(node, "upstream") > 0).length;
  const down = answer.nodes.filter((node) => beyond(node, "downstream") > 0).length;
  if (up + down === 0) return null;
  const sides = [
    up > 0 && `${plural(up, "node")} with more upstream`,
    down > 0 && `${plural(down, "node")} with more downstream`,
  ];
  return (
    <p>
      Beyond depth {state.depth}: {sides.filter(Boolean).join(", ")}.{" "}
      <button type="button" className="plain" onClick={() => change({ depth: state.depth + 1 })}>
        One step more
      </button>{" "}
      <button type="button" className="plain" onClick={() => change({ depth: 100 })}>
        All
      </button>
    </p>
  );
}
