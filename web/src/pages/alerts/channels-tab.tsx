import { useAsk, useMe, useSend } from "../../api/queries.ts";
import { count } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Refused } from "../../parts/refused.tsx";

export function ChannelsTab() {
  const me = useMe();
  const admin = me.data?.role === "admin";
  const list = useAsk("/api/v2/admin/alert-channels", {}, { enabled: admin, every: 10_000 });
  const test = useSend("post", "/api/v2/admin/alert-channels/{name}/test");
  if (me.data && !admin) return <p className="notice-line">Channels need the role admin. Ask an admin for a key.</p>;
  return (
    <>
      <Refused error={test.error} />
      {test.data && (
        <p className="notice-line" role="status">
          {test.data.name}{" "}
          {test.data.ok ? "took the test message" : `did not take the test message: ${test.data.error}`}
        </p>
      )}
      <Answered of={list}>
        {({ channels }) => (
          <Table
            label="Channels"
            rows={channels}
            keyOf={(one) => one.name}
            columns={[
              { id: "name", header: "Channel", wide: true, value: (one) => one.name, cell: (one) => one.name },
              { id: "kind", header: "Kind", value: (one) => one.kind, cell: (one) => one.kind },
              {
                id: "state",
                header: "State",
                value: (one) => one.failing_since ?? "",
                cell: (one) => <State state={one.failing_since ? "failing" : "active"} />,
              },
              {
                id: "delivered",
                header: "Delivered",
                number: true,
                value: (one) => one.delivered,
                cell: (one) => count(one.delivered),
              },
              {
                id: "last",
                header: "Last",
                minor: true,
                value: (one) => one.last_delivery_at,
                cell: (one) => <When at={one.last_delivery_at} />,
              },
              {
                id: "error",
                header: "Error",
                minor: true,
                value: (one) => one.last_error,
                cell: (one) => one.last_error,
              },
              {
                id: "do",
                header: "Do",
                cell: (one) => (
                  <button
                    type="button"
                    className="button quiet"
                    onClick={() => test.mutate({ path: { name: one.name } })}
                  >
                    Test
                  </button>
                ),
              },
            ]}
            empty={
              <Empty title="There is no channel" command="headwater rules channels add NAME slack">
                Mail needs none. Slack, Teams, PagerDuty and signed webhooks are channels.
              </Empty>
            }
          />
        )}
      </Answered>
    </>
  );
}
