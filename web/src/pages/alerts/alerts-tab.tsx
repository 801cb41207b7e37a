import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { AlertState, eventWords, messageCounts } from "./alert-state.tsx";

export function AlertsTab() {
  const list = useAsk("/api/v2/alerts", { query: { limit: 200 } });
  return (
    <Answered of={list} lines={6}>
      {({ alerts, total, failing }) => (
        <>
          {failing > 0 && (
            <p className="notice-line" role="status">
              {plural(failing, "message")} could not be sent yet, and {failing === 1 ? "is" : "are"} tried again. See{" "}
              <Link to="/alerting/{-$tab}" params={{ tab: "channels" }}>
                the channels
              </Link>
              .
            </p>
          )}
          <Table
            label="Alerts"
            rows={alerts}
            keyOf={(one) => one.id}
            total={total}
            pageSize={200}
            columns={[
              {
                id: "what",
                header: "What",
                wide: true,
                value: (one) => one.label,
                cell: (one) => (
                  <Link to="/alerts/$id" params={{ id: one.id }} title={one.text}>
                    {one.label}
                  </Link>
                ),
              },
              { id: "event", header: "Event", value: (one) => one.event, cell: (one) => eventWords(one.event) },
              {
                id: "state",
                header: "State",
                value: (one) => one.until ?? "",
                cell: (one) => <AlertState alert={one} />,
              },
              { id: "since", header: "Since", value: (one) => one.since, cell: (one) => <When at={one.since} /> },
              {
                id: "members",
                header: "Tells",
                number: true,
                value: (one) => one.members.length,
                cell: (one) => one.members.length,
              },
              { id: "messages", header: "Messages", minor: true, value: messageCounts, cell: messageCounts },
              {
                id: "by",
                header: "Looked after by",
                minor: true,
                value: (one) => one.acknowledged_by ?? "",
                cell: (one) => one.acknowledged_by,
              },
            ]}
            empty={
              <Empty title="No alert was raised yet" command="headwater rules test FILE --since 28d">
                Rules say who is to know of what. This command shows the alerts that a file of rules would have raised.
              </Empty>
            }
          />
        </>
      )}
    </Answered>
  );
}
