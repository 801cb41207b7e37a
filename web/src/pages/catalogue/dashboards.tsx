// Dashboards, charts and questions of BI tools: what each shows, and whom to ask.
import { useMemo } from "react";
import { get, type Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { When } from "../../parts/when.tsx";
import { useTroubles } from "../../api/troubles.ts";
import { Trouble } from "../incidents/trouble.tsx";
import { Narrow } from "./narrow.tsx";
import { useList } from "./use-list.ts";

type Row = Answer<"/api/v2/dashboards">["dashboards"][number];

export function Dashboards() {
  const { search, change } = useList();
  const { q, namespace: tool, page = 1 } = search;
  const list = useAsk(
    "/api/v2/dashboards",
    { query: { q, tool, limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  const rows = list.data?.dashboards;
  const troubles = useTroubles(list.data !== undefined);
  const columns = useMemo<Column<Row>[]>(() => {
    const names = distinguish((rows ?? []).flatMap((row) => row.reads.map((id) => ({ id }))));
    return [
      {
        id: "title",
        header: "Dashboard",
        wide: true,
        value: (row) => row.title,
        cell: (row) => <NodeLink id={row.id} label={row.title} />,
      },
      { id: "kind", header: "Kind", minor: true, value: (row) => row.kind, cell: (row) => row.kind.toLowerCase() },
      {
        id: "tool",
        header: "Tool",
        value: (row) => row.tool,
        cell: (row) => (
          <button
            type="button"
            className="plain name"
            title="Only this tool"
            onClick={() => change({ namespace: row.tool, page: undefined })}
          >
            {row.tool}
          </button>
        ),
      },
      {
        id: "reads",
        header: "Shows",
        value: (row) => row.reads.join(" "),
        cell: (row) => (
          <span className="node-row">
            {row.reads.map((id) => (
              <NodeLink key={id} id={id} label={names.get(id)} />
            ))}
            {row.reads.length === 0 && <span className="soft">not reported</span>}
          </span>
        ),
      },
      {
        id: "owners",
        header: "Owners and teams",
        minor: true,
        value: (row) => [...row.owners, ...row.teams].join(" "),
        cell: (row) =>
          [...row.owners, ...row.teams.map((team) => `team ${team}`)].join(", ") || (
            <span className="soft">no owner is named</span>
          ),
      },
      {
        id: "now",
        header: "Now",
        value: (row) => troubles.get(row.id)?.kind ?? null,
        cell: (row) => <Trouble of={row.id} among={troubles} />,
      },
      {
        id: "seen",
        header: "Last event",
        number: true,
        minor: true,
        value: (row) => row.last_seen,
        cell: (row) => <When at={row.last_seen} />,
      },
    ];
  }, [rows, troubles, change]);
  return (
    <Answered of={list} lines={8}>
      {({ total }) => (
        <Table<Row>
          label="Dashboards"
          columns={columns}
          rows={rows ?? []}
          keyOf={(row) => row.id}
          total={total}
          state={search}
          onState={change}
          all={async () => (await get("/api/v2/dashboards", { query: { q, tool, limit: 10_000 } })).dashboards as Row[]}
          empty={
            q || tool ? (
              <Empty title="No dashboard is like this">Take a word or the tool away.</Empty>
            ) : (
              <Empty title="No dashboard is known yet" command="headwater sync query-log --help">
                They come with the query log of a warehouse whose tools name their dashboards, with dbt&apos;s
                exposures, or with any event whose dataset has the type DASHBOARD.
              </Empty>
            )
          }
        >
          <Narrow search={search} change={change} placeholder="Part of a title" />
        </Table>
      )}
    </Answered>
  );
}
