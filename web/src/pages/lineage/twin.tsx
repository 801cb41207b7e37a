// The graph as a table: the same nodes, the same selection, for screen readers, small screens and whoever prefers it.
import { useMemo } from "react";
import type { GraphNode } from "../../graph/model.ts";
import { plural } from "../../format.ts";
import { KindMark } from "../../parts/node-link.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table, type TableState } from "../../parts/table.tsx";
import type { DrawnGraph } from "./to-graph.ts";

interface Props {
  graph: DrawnGraph;
  selected: string | null;
  /** Without a page: the one that holds the selected node. */
  state: TableState;
  onState(next: TableState): void;
  onSelect(id: string | null): void;
  onRoot(id: string): void;
}

/** Rows of one page: what opens within a frame or two. */
const ROWS = 50;

const side = (hop: number) =>
  hop === 0 ? "the start" : `${plural(Math.abs(hop), "step")} ${hop < 0 ? "upstream" : "downstream"}`;

export function Twin({ graph, selected, state, onState, onSelect, onRoot }: Props) {
  const rows = useMemo(() => [...graph.nodes].sort((a, b) => a.hop - b.hop || (a.title < b.title ? -1 : 1)), [graph]);
  const around = useMemo(() => {
    const names = new Map(graph.nodes.map((node) => [node.id, node.label]));
    const into = new Map<string, string[]>();
    const outOf = new Map<string, string[]>();
    const add = (to: Map<string, string[]>, id: string, other: string) => {
      const list = to.get(id);
      const name = names.get(other) ?? other;
      if (list) list.push(name);
      else to.set(id, [name]);
    };
    for (const edge of graph.edges) {
      add(into, edge.target, edge.source);
      add(outOf, edge.source, edge.target);
    }
    return { into, outOf };
  }, [graph]);
  const holding =
    Math.floor(
      Math.max(
        rows.findIndex((node) => node.id === selected),
        0,
      ) / ROWS,
    ) + 1;
  const shown = Math.min(state.page ?? holding, Math.max(Math.ceil(rows.length / ROWS), 1));
  const columns: Column<GraphNode>[] = [
    {
      id: "name",
      header: "Name",
      wide: true,
      value: (node) => node.title,
      cell: (node) => (
        <button
          type="button"
          className={`plain node-link${node.id === selected ? " is-on" : ""}`}
          aria-pressed={node.id === selected}
          title={node.title}
          onClick={() => onSelect(node.id === selected ? null : node.id)}
          onDoubleClick={() => onRoot(node.id)}
        >
          <KindMark id={node.id} />
          <span className="name mono">{node.label}</span>
        </button>
      ),
    },
    {
      id: "hop",
      header: "Where",
      value: (node) => node.hop,
      cell: (node) => <span className="one-line">{side(node.hop)}</span>,
    },
    {
      id: "state",
      header: "State",
      value: (node) => node.note ?? node.state,
      cell: (node) => node.note ?? (node.state ? <State state={node.state} /> : <span className="soft">–</span>),
    },
    {
      id: "from",
      header: "From",
      value: (node) => around.into.get(node.id)?.join(", "),
      cell: (node) => <Names names={around.into.get(node.id)} hidden={node.hiddenUpstream} />,
    },
    {
      id: "to",
      header: "To",
      value: (node) => around.outOf.get(node.id)?.join(", "),
      cell: (node) => <Names names={around.outOf.get(node.id)} hidden={node.hiddenDownstream} />,
    },
    {
      id: "columns",
      header: "Columns",
      number: true,
      value: (node) => node.fields.length,
      cell: (node) => node.fields.length || "–",
    },
  ];
  return (
    <div className="twin">
      <Table
        label="Nodes of the graph"
        columns={columns}
        rows={rows.slice((shown - 1) * ROWS, shown * ROWS)}
        total={rows.length}
        pageSize={ROWS}
        state={{ ...state, page: shown }}
        onState={onState}
        all={() => Promise.resolve(rows)}
        keyOf={(node) => node.id}
        file="lineage"
        empty={<p className="soft">The graph is empty.</p>}
      />
    </div>
  );
}

function Names({ names = [], hidden }: { names?: readonly string[]; hidden: number }) {
  if (names.length + hidden === 0) return <span className="soft">–</span>;
  return (
    <span className="mono small">
      {names.slice(0, 4).join(", ")}
      {names.length > 4 && ` and ${names.length - 4} more`}
      {hidden > 0 && ` (+${hidden} not shown)`}
    </span>
  );
}
