// A node and its lineage: controls, drawing, panel. Binds the address, the API and the graph together.
import { useMemo } from "react";
import { useLineage } from "../api/queries.ts";
import { GraphView } from "../graph/graph-view.tsx";
import type { FieldRef, Side } from "../graph/model.ts";
import { Panel } from "../panels/panel.tsx";
import { navigate, type Theme, useUrl } from "../url.ts";
import { Controls } from "./controls.tsx";
import { graphOf } from "./lineage-graph.ts";
import { Message, Trouble } from "./message.tsx";
import { atNode } from "./open-node.tsx";

export function LineagePage({ node, theme }: { node: string; theme: Theme }) {
  const url = useUrl();
  const { direction, depth, columns, asOf, selected, field } = url;
  const lineage = useLineage({ node, direction, depth, columns, asOf });
  const answer = lineage.data;
  const graph = useMemo(() => (answer ? graphOf(answer) : null), [answer]);
  const pinned = useMemo<FieldRef | null>(
    () => (field ? { node: selected ?? node, field } : null),
    [field, selected, node],
  );

  const select = (id: string | null) => {
    if (id !== selected) navigate({ selected: id, tab: null, run: null, field: null });
  };
  const trace = (to: FieldRef | null) => {
    if (to === null) navigate({ field: null });
    else navigate({ field: to.field, selected: to.node, ...(to.node === selected ? {} : { tab: null, run: null }) });
  };
  // What is hidden beyond the border of the walk comes with one more hop; what lies across it needs a new start.
  const reach = (id: string, side: Side) => {
    const hop = graph?.nodes.find((n) => n.id === id)?.hop ?? 0;
    const along = side === "upstream" ? hop <= 0 && direction !== "downstream" : hop >= 0 && direction !== "upstream";
    if (along && Math.abs(hop) >= depth && !answer?.hidden.reason) navigate({ depth: depth + 1 });
    else
      navigate({
        ...atNode(id),
        selected: selected ? id : null,
        ...(direction === "both" ? {} : { direction: "both" }),
      });
  };

  return (
    <main className="lineage">
      <Controls url={url} answer={answer} />
      <div className="stage">
        {graph && answer && !(lineage.error && lineage.isPlaceholderData) ? (
          <>
            <GraphView
              graph={graph}
              columns={columns}
              indirect={url.indirect}
              selected={selected}
              pinned={columns ? pinned : null}
              theme={theme}
              onSelect={select}
              onField={trace}
              onRoot={(id) => navigate({ ...atNode(id), selected: selected ? id : null })}
              onHidden={reach}
            />
            {lineage.error ? (
              <div className="notice" role="alert">
                {lineage.error.message} What is shown may be out of date.{" "}
                <button type="button" className="plain" onClick={() => void lineage.refetch()}>
                  Try again
                </button>
              </div>
            ) : answer.hidden.nodes > 0 ? (
              <div className="notice" role="status">
                {answer.hidden.nodes} more nodes are not shown{answer.hidden.reason ? `: ${answer.hidden.reason}` : ""}.
              </div>
            ) : answer.edges.length === 0 ? (
              <div className="notice" role="status">
                No lineage {direction === "both" ? "" : `${direction} `}is known for this node
                {asOf ? " at that time" : ""}.
              </div>
            ) : null}
          </>
        ) : lineage.error ? (
          <Trouble error={lineage.error} retry={() => void lineage.refetch()} />
        ) : (
          <Message title="Walking the graph…" />
        )}
        {lineage.isFetching && <div className="progress" aria-hidden="true" />}
      </div>
      {selected && (answer || !lineage.error) && <Panel id={selected} answer={answer} />}
    </main>
  );
}
