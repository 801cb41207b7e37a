import { useAsk, useSend } from "../../api/queries.ts";
import { count, duration } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Refused } from "../../parts/refused.tsx";

export function ListenersTab() {
  const listeners = useAsk("/api/v2/admin/listeners", {}, { every: 10_000 });
  const pause = useSend("post", "/api/v2/admin/listeners/{name}/pause");
  const resume = useSend("post", "/api/v2/admin/listeners/{name}/resume");
  const test = useSend("post", "/api/v2/admin/listeners/{name}/test");
  return (
    <Section title="Systems that events are forwarded to">
      <Refused error={pause.error ?? resume.error ?? test.error} />
      {test.data && (
        <p className="notice-line" role="status">
          {test.data.name} {test.data.ok ? "took the test event" : "refused the test event"}: {test.data.said}
        </p>
      )}
      <Answered of={listeners}>
        {({ listeners: rows }) => (
          <Table
            label="Listeners"
            rows={rows}
            keyOf={(one) => one.name}
            columns={[
              {
                id: "name",
                header: "Name",
                wide: true,
                value: (one) => one.name,
                cell: (one) => <span title={one.url ?? undefined}>{one.name}</span>,
              },
              { id: "kind", header: "Kind", value: (one) => one.kind, cell: (one) => one.kind },
              { id: "state", header: "State", value: (one) => one.state, cell: (one) => <State state={one.state} /> },
              {
                id: "backlog",
                header: "Waiting",
                number: true,
                value: (one) => one.backlog,
                cell: (one) => `${count(one.backlog)}${one.backlog_more ? "+" : ""}`,
              },
              {
                id: "lag",
                header: "Behind",
                number: true,
                value: (one) => one.lag_seconds,
                cell: (one) => duration(one.lag_seconds * 1000),
              },
              {
                id: "refused",
                header: "Refused",
                number: true,
                value: (one) => one.refused,
                cell: (one) => count(one.refused),
              },
              {
                id: "last",
                header: "Last delivery",
                minor: true,
                value: (one) => one.last_delivery_at,
                cell: (one) => <When at={one.last_delivery_at} />,
              },
              {
                id: "error",
                header: "Error",
                minor: true,
                value: (one) => one.last_error,
                cell: (one) => (
                  <span className="name" title={one.last_error ?? undefined}>
                    {one.last_error}
                  </span>
                ),
              },
              {
                id: "do",
                header: "Do",
                cell: (one) => (
                  <span className="actions">
                    <button
                      type="button"
                      className="button quiet"
                      onClick={() => (one.state === "paused" ? resume : pause).mutate({ path: { name: one.name } })}
                    >
                      {one.state === "paused" ? "Go on" : "Pause"}
                    </button>
                    <button
                      type="button"
                      className="button quiet"
                      onClick={() => test.mutate({ path: { name: one.name } })}
                    >
                      Test
                    </button>
                  </span>
                ),
              },
            ]}
            empty={
              <Empty title="Events go to no other system" command="headwater events listeners --help">
                A listener gets every event that is accepted: a webhook, Marquez, DataHub, OpenMetadata.
              </Empty>
            }
          />
        )}
      </Answered>
    </Section>
  );
}
