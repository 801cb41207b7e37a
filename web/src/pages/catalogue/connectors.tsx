// Systems that the server reads on a schedule: how far behind, what the last pull did, when the next is.
import { useAsk, useMe, useSend } from "../../api/queries.ts";
import type { components } from "../../api/schema.d.ts";
import { count, duration } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { Refused } from "../../parts/refused.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";

type Connector = components["schemas"]["ConnectorState"];

const COLUMNS: Column<Connector>[] = [
  {
    id: "name",
    header: "Connector",
    wide: true,
    value: (one) => one.name,
    cell: (one) => (
      <>
        {one.name} <span className="soft">{one.kind}</span>
      </>
    ),
  },
  { id: "state", header: "State", value: (one) => one.state, cell: (one) => <State state={one.state} /> },
  {
    id: "lag",
    header: "Behind",
    number: true,
    value: (one) => one.lag_seconds,
    cell: (one) => one.lag_seconds != null && duration(one.lag_seconds * 1000),
  },
  {
    id: "rows",
    header: "Rows",
    number: true,
    minor: true,
    value: (one) => one.last?.rows,
    cell: (one) => one.last && count(one.last.rows),
  },
  {
    id: "events",
    header: "Events",
    number: true,
    minor: true,
    value: (one) => one.last?.events,
    cell: (one) => one.last && count(one.last.events),
  },
  {
    id: "last",
    header: "Last pull",
    number: true,
    value: (one) => one.last?.started_at,
    cell: (one) => one.last && <When at={one.last.started_at} />,
  },
  {
    id: "next",
    header: "Next pull",
    number: true,
    minor: true,
    value: (one) => one.next_pull_at,
    cell: (one) => <When at={one.next_pull_at} />,
  },
  {
    id: "error",
    header: "Says",
    minor: true,
    value: (one) => one.last_error,
    cell: (one) => one.last_error ?? one.last?.warnings.join("; "),
  },
];

export function Connectors() {
  const admin = useMe().data?.role === "admin";
  const list = useAsk("/api/v2/connectors", {}, { every: 5_000 });
  const pull = useSend("post", "/api/v2/connectors/{name}/pull");
  const columns: Column<Connector>[] = admin
    ? [
        ...COLUMNS,
        {
          id: "do",
          header: "Do",
          cell: (one) => (
            <button type="button" className="button quiet" onClick={() => pull.mutate({ path: { name: one.name } })}>
              Pull now
            </button>
          ),
        },
      ]
    : COLUMNS;
  return (
    <Section title="Read on a schedule">
      <Refused error={pull.error} />
      <Answered of={list}>
        {({ connectors }) => (
          <Table
            label="Connectors"
            columns={columns}
            rows={connectors}
            keyOf={(one) => one.name}
            empty={
              <Empty title="No system is read on a schedule" command="headwater connect postgres">
                From credentials to tables, columns, views and their lineage.
              </Empty>
            }
          />
        )}
      </Answered>
    </Section>
  );
}
