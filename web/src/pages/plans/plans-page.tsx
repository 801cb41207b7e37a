import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Page } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Progress } from "./progress.tsx";
import { Workers, WORKERS_EVERY } from "./workers.tsx";

export function PlansPage() {
  const list = useAsk("/api/v2/plans", { query: { limit: 100 } }, { every: WORKERS_EVERY });
  return (
    <Page title="Plans" lede="What to make again, in order. Apply releases a plan, and workers run it.">
      <Answered of={list} lines={6}>
        {({ plans, total, workers }) => (
          <>
            <Workers workers={workers} waitedFor={plans.some((plan) => plan.state === "running")} />
            <Table
              label="Plans"
              rows={plans}
              keyOf={(plan) => plan.id}
              total={total}
              pageSize={100}
              columns={[
                {
                  id: "reason",
                  header: "Why",
                  wide: true,
                  value: (plan) => plan.reason,
                  cell: (plan) => (
                    <Link to="/plans/$id" params={{ id: plan.id }}>
                      {plan.reason || `Plan ${plan.id.slice(0, 8)}`}
                    </Link>
                  ),
                },
                {
                  id: "state",
                  header: "State",
                  value: (plan) => plan.state,
                  cell: (plan) => <State state={plan.state} />,
                },
                {
                  id: "progress",
                  header: "Progress",
                  value: (plan) => plan.done,
                  cell: (plan) => <Progress plan={plan} />,
                },
                {
                  id: "created",
                  header: "Made",
                  value: (plan) => plan.created_at,
                  cell: (plan) => <When at={plan.created_at} />,
                },
                {
                  id: "by",
                  header: "By",
                  minor: true,
                  value: (plan) => plan.created_by,
                  cell: (plan) => plan.created_by,
                },
              ]}
              empty={
                <Empty title="No plan was made yet" command="headwater repair --dry-run">
                  Plans are made from an incident, or by this command.
                </Empty>
              }
            />
          </>
        )}
      </Answered>
    </Page>
  );
}
