// Every step of a file, an item or a run, as a table: what came before it first. The graph draws the same answer.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { bytes, count, duration } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command, Empty } from "../../parts/message.tsx";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { isRecord, ownerOf, type RecordNode } from "../lineage/records.ts";

/** As far as the server walks. */
const DEPTH = 100;
const MOST = 2000;

const columnsOf = (names: ReadonlyMap<string, string>): Column<RecordNode>[] => [
  { id: "hop", header: "Step", number: true, value: (node) => node.hop, cell: (node) => node.hop },
  { id: "kind", header: "What", value: (node) => node.type, cell: (node) => node.type.toLowerCase() },
  {
    id: "name",
    header: "Which",
    wide: true,
    value: (node) => node.label,
    cell: (node) => {
      const owner = ownerOf(node);
      return owner ? <NodeLink id={owner} label={names.get(owner)} /> : <span className="mono name">{node.label}</span>;
    },
  },
  {
    id: "state",
    header: "State",
    value: (node) => (node.type === "RUN" ? node.effective_state : node.state),
    cell: (node) => {
      const state = node.type === "RUN" ? node.effective_state : node.state;
      return state ? <State state={state} /> : "–";
    },
  },
  { id: "when", header: "When", value: momentOf, cell: (node) => <When at={momentOf(node)} /> },
  {
    id: "size",
    header: "Size",
    number: true,
    minor: true,
    value: (node) => (node.type === "VERSION" ? node.bytes : null),
    cell: (node) => (node.type === "VERSION" && node.bytes !== null ? bytes(node.bytes) : "–"),
  },
  {
    id: "took",
    header: "Took",
    number: true,
    minor: true,
    value: (node) => (node.type === "RUN" ? node.duration_ms : null),
    cell: (node) => duration(node.type === "RUN" ? node.duration_ms : null),
  },
  {
    id: "run",
    header: "Run",
    minor: true,
    value: (node) => (node.type === "RUN" ? node.run_id : null),
    cell: (node) => (node.type === "RUN" ? <RunLink id={node.run_id} /> : "–"),
  },
];

function momentOf(node: RecordNode): string | null {
  return node.type === "RUN" ? node.started_at : node.type === "VERSION" ? node.written_at : null;
}

export function Steps({ id }: { id: string }) {
  const trace = useAsk("/api/v2/lineage", { query: { node: id, depth: DEPTH, max_nodes: MOST } });
  if (trace.error && !trace.data)
    return (
      <Section title="Every step">
        <Empty title="Headwater knows no step with it" command={`headwater lineage '${id}'`}>
          {trace.error.message}
        </Empty>
      </Section>
    );
  return (
    <Section
      title="Every step"
      beside={
        <Link to="/lineage/$node" params={{ node: id }} search={{ depth: DEPTH }}>
          Draw it
        </Link>
      }
    >
      <Answered of={trace}>
        {({ nodes, hidden, notes, candidates }) => (
          <>
            {candidates.length > 0 && (
              <ul className="list">
                {candidates.map((one) => (
                  <li key={`${one.type} ${one.id}`}>
                    <Link to="/trace" search={{ id: one.id }}>
                      {one.label}
                    </Link>
                    <small className="soft">{one.type.toLowerCase()}</small>
                  </li>
                ))}
              </ul>
            )}
            {notes.map((note) => (
              <p className="notice-line" key={note}>
                {note}
              </p>
            ))}
            <Table
              label="Every step"
              rows={nodes
                .filter(isRecord)
                .sort((a, b) => a.hop - b.hop || (momentOf(a) ?? "").localeCompare(momentOf(b) ?? ""))}
              keyOf={(node) => node.id}
              columns={columnsOf(
                distinguish(
                  nodes
                    .filter(isRecord)
                    .flatMap((node) => ownerOf(node) ?? [])
                    .map((owner) => ({ id: owner })),
                ),
              )}
              empty={
                <p className="soft">
                  No single run is recorded of it.{" "}
                  <Link to="/lineage/$node" params={{ node: id }}>
                    Its lineage
                  </Link>
                </p>
              }
            />
            {hidden.nodes > 0 && (
              <p className="soft">
                At least {count(hidden.nodes)} more are not listed ({hidden.reason}).{" "}
                <Command text={`headwater lineage '${id}' --depth all`} />
              </p>
            )}
          </>
        )}
      </Answered>
    </Section>
  );
}
