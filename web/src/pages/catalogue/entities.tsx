// Datasets with a schedule: made part by part, each part with a state.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import type { Answer } from "../../api/client.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { Narrow } from "./narrow.tsx";
import { useList } from "./use-list.ts";

type Entity = Answer<"/api/v2/entities">["entities"][number];

const columns: Column<Entity>[] = [
  {
    id: "name",
    header: "Name",
    wide: true,
    value: (row) => row.entity,
    cell: (row) => (
      <Link className="mono" to="/schedules/$entity" params={{ entity: row.entity }}>
        {row.entity}
      </Link>
    ),
  },
  { id: "period", header: "Period", value: (row) => row.period, cell: (row) => row.period ?? "none" },
  {
    id: "latest",
    header: "Latest",
    value: (row) => row.latest,
    cell: (row) => <span className="mono one-line">{row.latest ?? "–"}</span>,
  },
  {
    id: "wrong",
    header: "Wrong",
    number: true,
    value: (row) => row.wrong,
    cell: (row) => (row.wrong ? <State state="wrong" word={String(row.wrong)} /> : "0"),
  },
  {
    id: "needs",
    header: "Needs",
    minor: true,
    value: (row) => row.upstream.join(" "),
    cell: (row) => <span className="name mono">{row.upstream.join(", ") || "–"}</span>,
  },
  {
    id: "owners",
    header: "Owners",
    minor: true,
    value: (row) => row.owners.join(" "),
    cell: (row) => row.owners.join(", ") || "–",
  },
];

export function Entities() {
  const { search, change } = useList();
  const page = search.page ?? 1;
  const list = useAsk(
    "/api/v2/entities",
    { query: { text: search.q, tag: search.tag, limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  return (
    <Answered of={list} lines={8}>
      {({ total, entities }) => (
        <Table
          label="Schedules"
          columns={columns}
          rows={entities}
          keyOf={(row) => row.entity}
          total={total}
          state={search}
          onState={change}
          empty={
            <Empty title="No dataset has a schedule" command="headwater entities apply entities.yaml">
              A schedule says for which hours or days a dataset is made, and from what.
            </Empty>
          }
        >
          <Narrow search={search} change={change} placeholder="Part of a name" />
        </Table>
      )}
    </Answered>
  );
}
