// Edges that appeared or went; each leads to what explains it: who says so, since when.
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Answer } from "../../api/client.ts";
import { distinguish } from "../../names.ts";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { changedRows, pageOf } from "./changed-rows.ts";
import type { ChangesTabProps } from "./changes-page.tsx";

interface Props extends ChangesTabProps {
  edges: Answer<"/api/v2/lineage/diff">["edges"];
}

export function EdgeChanges({ edges, search, change }: Props) {
  const rows = useMemo(() => changedRows(edges.added, edges.removed), [edges]);
  const names = useMemo(
    () => distinguish(rows.flatMap(({ source, target }) => [{ id: source }, { id: target }])),
    [rows],
  );
  return (
    <Table
      label="Edges that changed"
      rows={pageOf(rows, search.page)}
      keyOf={(row) => `${row.source} ${row.target}`}
      total={rows.length}
      state={search}
      onState={change}
      all={() => Promise.resolve(rows)}
      columns={[
        { id: "change", header: "Change", value: (row) => row.change, cell: (row) => <State state={row.change} /> },
        {
          id: "source",
          header: "From",
          wide: true,
          value: (row) => row.source,
          cell: (row) => <NodeLink id={row.source} label={names.get(row.source)} />,
        },
        {
          id: "target",
          header: "To",
          wide: true,
          value: (row) => row.target,
          cell: (row) => <NodeLink id={row.target} label={names.get(row.target)} />,
        },
        {
          id: "origin",
          header: "Evidence",
          minor: true,
          value: (row) => row.origin,
          cell: (row) => row.origin.toLowerCase(),
        },
        {
          id: "last",
          header: "Last seen",
          minor: true,
          value: (row) => row.last_seen,
          cell: (row) => <When at={row.last_seen} />,
        },
        {
          id: "why",
          header: "Why",
          cell: (row) =>
            row.change === "appeared" && (
              <Link
                to="/lineage/$node"
                params={{ node: row.source }}
                search={{ depth: 1, edge: [row.source, row.target] }}
              >
                explain
              </Link>
            ),
        },
      ]}
      empty={<Empty title="No edge appeared or went">Choose an earlier time to compare with.</Empty>}
    />
  );
}
