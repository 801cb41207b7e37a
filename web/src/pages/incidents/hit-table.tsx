// Everything an incident hits, in words: what is the matter, since when, whom to tell, and the way that leads there.
import { useMemo } from "react";
import { NodeLink } from "../../parts/node-link.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import type { Detail } from "./incident-page.tsx";

export function HitTable({ detail }: { detail: Detail }) {
  const ways = useMemo(() => wayOf(detail), [detail]);
  const drawn = new Map(detail.nodes.map((node) => [node.id, node]));
  return (
    <Table
      label="Who is hit"
      rows={detail.incident.hit}
      keyOf={(hit) => hit.id}
      pageSize={50}
      columns={[
        {
          id: "object",
          header: "Hit",
          wide: true,
          value: (hit) => hit.label,
          cell: (hit) => <NodeLink id={hit.id} label={hit.label} />,
        },
        { id: "is", header: "Is", value: (hit) => hit.kind, cell: (hit) => <State state={hit.kind} /> },
        { id: "since", header: "Since", value: (hit) => hit.since ?? "", cell: (hit) => <When at={hit.since} /> },
        {
          id: "tell",
          header: "Owners and teams",
          value: (hit) => contacts(drawn, hit).join(" "),
          cell: (hit) => contacts(drawn, hit).join(", ") || <span className="soft">no owner is named</span>,
        },
        {
          id: "way",
          header: "Way from the cause",
          minor: true,
          value: (hit) => ways.get(hit.id)?.join(" ") ?? "",
          cell: (hit) => <span className="small">{ways.get(hit.id)?.join(" → ") ?? "no way to it is recorded"}</span>,
        },
      ]}
      empty={null}
    />
  );
}

function contacts(drawn: ReadonlyMap<string, Detail["nodes"][number]>, hit: Detail["incident"]["hit"][number]) {
  const node = drawn.get(hit.id);
  return [...new Set([...hit.owners, ...(node?.owners ?? []), ...(node?.teams ?? []).map((team) => `team ${team}`)])];
}

/** The names from the cause to each node that is drawn; the server sends one way to each. */
function wayOf({ nodes, edges }: Detail) {
  const labels = new Map(nodes.map((node) => [node.id, node.label]));
  const before = new Map<string, string>();
  for (const { source, target } of edges) if (!before.has(target)) before.set(target, source);
  const causes = new Set(nodes.filter(({ role }) => role === "cause").map(({ id }) => id));
  const ways = new Map<string, string[]>();
  for (const { id } of nodes) {
    const way: string[] = [];
    const seen = new Set<string>();
    for (let at: string | undefined = id; at !== undefined && !seen.has(at); at = before.get(at)) {
      seen.add(at);
      way.unshift(labels.get(at) ?? at);
      if (causes.has(at)) break;
    }
    ways.set(id, way);
  }
  return ways;
}
