// The lineage between teams or products, one step around: a click opens the neighbour. The lists under it say the same in words.
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { GraphView } from "../../graph/graph-view.tsx";
import type { Graph, GraphNode } from "../../graph/model.ts";
import { plural } from "../../format.ts";
import { useTheme } from "../../theme.ts";
import type { Group } from "./group-page.tsx";

const nothing = () => undefined;

export function NeighbourGraph({ group, word, name }: { group: Group; word: string; name: string }) {
  const { theme } = useTheme();
  const navigate = useNavigate();
  const graph = useMemo(() => graphOf(group, word, name), [group, word, name]);
  const open = (id: string | null) => {
    const value = id?.slice(id.indexOf(" ") + 1);
    if (value && value !== name && value !== "(none)")
      void navigate({ to: "/groups/$key/$name", params: { key: word, name: value } });
  };
  const rows = Math.max(group.upstream.length, group.downstream.length, 1);
  return (
    <div className="way-graph" style={{ height: 150 + 72 * Math.min(rows, 5) }}>
      <GraphView
        graph={graph}
        columns={false}
        indirect={false}
        selected={null}
        pinned={null}
        route={null}
        legend={null}
        theme={theme}
        onSelect={open}
        onField={nothing}
        onRoot={open}
        onHidden={nothing}
        onFold={nothing}
        explain={(source, target) => [`${labelIn(graph, source)} → ${labelIn(graph, target)}`]}
        onEdge={nothing}
      />
    </div>
  );
}

const labelIn = (graph: Graph, id: string) => graph.nodes.find((node) => node.id === id)?.label ?? id;

function graphOf({ upstream, downstream, total_datasets }: Group, word: string, name: string): Graph {
  const self = `self ${name}`;
  // A group on both sides is drawn on both: data goes there and comes back.
  const above = upstream.map((one) => ({ ...one, id: `from ${one.value}` }));
  const below = downstream.map((one) => ({ ...one, id: `to ${one.value}` }));
  const node = (id: string, label: string, datasets: number): GraphNode => ({
    id,
    kind: "dataset",
    word,
    label: label === "(none)" ? `no ${word}` : label,
    detail: plural(datasets, "dataset"),
    title: `${label}, ${plural(datasets, "dataset")}`,
    fields: [],
    tags: [],
    state: null,
    tint: null,
    note: null,
    folded: 0,
    hop: 0,
    hiddenUpstream: 0,
    hiddenDownstream: 0,
  });
  const edge = (source: string, target: string) => ({ source, target, declared: false, change: null });
  return {
    root: self,
    nodes: [node(self, name, total_datasets), ...[...above, ...below].map((one) => node(one.id, one.value, one.count))],
    edges: [...above.map((one) => edge(one.id, self)), ...below.map((one) => edge(self, one.id))],
    links: [],
  };
}
