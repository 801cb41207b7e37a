// Datasets and jobs that appeared or went; each leads to its graph, drawn as the difference to then.
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

const KINDS = ["datasets", "jobs"] as const;

interface Props extends ChangesTabProps {
  nodes: Answer<"/api/v2/lineage/diff">["nodes"];
  since: string;
}

export function NodeChanges({ nodes, since, search, change }: Props) {
  const all = useMemo(() => changedRows(nodes.added, nodes.removed), [nodes]);
  const names = useMemo(() => distinguish(all), [all]);
  const rows = search.kind ? all.filter(({ id }) => id.startsWith(`${search.kind?.slice(0, -1)}:`)) : all;
  return (
    <Table
      label="Datasets and jobs that changed"
      rows={pageOf(rows, search.page)}
      keyOf={(row) => row.id}
      total={rows.length}
      state={search}
      onState={change}
      all={() => Promise.resolve(rows)}
      columns={[
        { id: "change", header: "Change", value: (row) => row.change, cell: (row) => <State state={row.change} /> },
        {
          id: "name",
          header: "Name",
          wide: true,
          value: (row) => row.id,
          cell: (row) => <NodeLink id={row.id} label={names.get(row.id)} />,
        },
        {
          id: "namespace",
          header: "Namespace",
          minor: true,
          value: (row) => row.namespace,
          cell: (row) => row.namespace,
        },
        {
          id: "first",
          header: "First seen",
          minor: true,
          value: (row) => row.first_seen,
          cell: (row) => <When at={row.first_seen} />,
        },
        {
          id: "compare",
          header: "Graph",
          cell: (row) => (
            <Link to="/lineage/$node" params={{ node: row.id }} search={{ since }}>
              compare
            </Link>
          ),
        },
      ]}
      empty={<Empty title="No dataset or job appeared or went">Choose an earlier time to compare with.</Empty>}
    >
      <span className="choices" role="group" aria-label="Kind">
        {[undefined, ...KINDS].map((kind) => (
          <button
            key={kind ?? "all"}
            type="button"
            className="choice"
            aria-pressed={search.kind === kind}
            onClick={() => change({ kind, page: undefined })}
          >
            {kind ?? "all"}
          </button>
        ))}
      </span>
    </Table>
  );
}
