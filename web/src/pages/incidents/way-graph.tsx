// The way from the cause to each thing hit, as a drawing; a click opens the thing. The table under it says the same in words.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { GraphView } from "../../graph/graph-view.tsx";
import type { Graph } from "../../graph/model.ts";
import { plural } from "../../format.ts";
import { bareName, distinguish } from "../../names.ts";
import { lookOf, TONES } from "../../parts/state.tsx";
import { useTheme } from "../../theme.ts";
import { toggled } from "../../parts/tree-name.tsx";
import { type FoldedWays, foldWays } from "./fold-ways.ts";
import type { Detail } from "./incident-page.tsx";

const NONE: readonly string[] = [];
const route = getRouteApi("/incidents/$id");
const nothing = () => undefined;

export function WayGraph({ detail }: { detail: Detail }) {
  const { theme } = useTheme();
  const navigate = useNavigate();
  const { open: unfolded = NONE } = route.useSearch();
  const ways = useMemo(() => foldWays(detail, new Set(unfolded)), [detail, unfolded]);
  const graph = useMemo(() => graphOf(ways), [ways]);
  const states = [...new Set(detail.nodes.flatMap(({ state }) => (state ? [state] : [])))];
  const open = (id: string | null) => {
    if (id?.startsWith("job:"))
      void navigate({ to: "/jobs/$id/{-$tab}", params: { id: bareName(id), tab: undefined } });
    else if (id?.startsWith("dataset:"))
      void navigate({ to: "/datasets/$id/{-$tab}", params: { id: bareName(id), tab: undefined } });
    else if (id) void navigate({ to: "/schedules/$entity", params: { entity: bareName(id) } });
  };
  const names = distinguish(ways.opened.map((id) => ({ id })));
  const fold = (id: string) =>
    void navigate({ to: ".", search: (now) => ({ ...now, open: toggled(unfolded, id) }) as never, replace: true });
  return (
    <>
      {ways.opened.length > 0 && (
        <p className="way-folds">
          {ways.opened.map((id) => (
            <button
              type="button"
              className="choice"
              key={id}
              aria-pressed
              title="Draw its jobs as one card"
              onClick={() => fold(id)}
            >
              {names.get(id)} is open
            </button>
          ))}
        </p>
      )}
      <div className="way-graph" style={{ height: 150 + 72 * Math.min(mostSideBySide(ways), 5) }}>
        <GraphView
          graph={graph}
          columns={false}
          indirect={false}
          selected={null}
          pinned={null}
          route={null}
          legend={[
            ...states.map((state) => ({ tint: TONES[lookOf(state).tone], word: lookOf(state).word })),
            { tint: TONES.none, word: "on the way" },
          ]}
          openAbove={0.62}
          theme={theme}
          onSelect={open}
          onField={nothing}
          onRoot={open}
          onHidden={nothing}
          onFold={fold}
          explain={(source, target) => [`${labelIn(graph, source)} → ${labelIn(graph, target)}`]}
          onEdge={nothing}
        />
      </div>
    </>
  );
}

/** How many nodes stand side by side, as far from the cause as each other. */
function mostSideBySide({ nodes, edges }: FoldedWays) {
  const before = new Map(edges.map(({ source, target }) => [target, source]));
  const steps = (id: string): number => {
    const source = before.get(id);
    return source === undefined ? 0 : 1 + steps(source);
  };
  const counts = new Map<number, number>();
  for (const { id } of nodes) counts.set(steps(id), (counts.get(steps(id)) ?? 0) + 1);
  return Math.max(1, ...counts.values());
}

const labelIn = (graph: Graph, id: string) => graph.nodes.find((node) => node.id === id)?.label ?? id;

function graphOf({ nodes, edges }: FoldedWays): Graph {
  return {
    root: nodes[0]?.id ?? "",
    nodes: nodes.map((node) => {
      const look = node.state ? lookOf(node.state) : null;
      const note = look ? `${node.role === "cause" ? "cause: " : ""}${look.word}` : "on the way";
      return {
        id: node.id,
        kind: node.id.startsWith("job:") ? "job" : "dataset",
        word: node.id.startsWith("instances:") ? "schedule" : undefined,
        label: node.label,
        detail: [node.folded > 0 && plural(node.folded, "job"), note, ...node.owners].filter(Boolean).join(" · "),
        title: `${bareName(node.id)}, ${note}`,
        fields: [],
        tags: [],
        state: null,
        tint: look ? TONES[look.tone] : null,
        note,
        folded: node.folded,
        hop: 0,
        hiddenUpstream: 0,
        hiddenDownstream: 0,
      };
    }),
    edges: edges.map((edge) => ({ ...edge, declared: false, change: null })),
    links: [],
  };
}
