// One plan: its runs in order, live; apply, pause, go on, take failed ones again, cancel.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { RunLink } from "../../parts/node-link.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { When } from "../../parts/when.tsx";
import { Progress } from "./progress.tsx";
import { Steer } from "./steer.tsx";
import { WORKERS_EVERY } from "./workers.tsx";

const route = getRouteApi("/plans/$id");

export function PlanPage() {
  const { id } = route.useParams();
  const [page, setPage] = useState(1);
  const one = useAsk(
    "/api/v2/plans/{plan}",
    { path: { plan: id }, query: { limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true, every: WORKERS_EVERY },
  );
  return (
    <Page title={one.data?.plan.reason || "Plan"} lede={one.data && <State state={one.data.plan.state} />}>
      <Answered of={one} lines={8}>
        {({ plan, workers, items, left, unrepairable }) => (
          <>
            <Section title="Progress">
              <Progress plan={plan} />
              <Steer plan={plan} workers={workers} />
              <Facts
                facts={[
                  ["Made", <When key="c" at={plan.created_at} full />],
                  ["By", plan.created_by],
                  [
                    "Incident",
                    plan.incident && (
                      <Link key="i" to="/incidents/$id" params={{ id: plan.incident }}>
                        {plan.incident.slice(0, 8)}…
                      </Link>
                    ),
                  ],
                  ["Runs begin between", plan.between && `${plan.between} ${plan.tz}`],
                  ["Opens", plan.opens && <When key="o" at={plan.opens} full />],
                  [
                    "Left wrong",
                    left.length > 0 && left.map((one) => `${one.entity}@${one.instances.join(", ")}`).join("; "),
                  ],
                  ["Cannot be repaired", Object.keys(unrepairable).length > 0 && Object.keys(unrepairable).join(", ")],
                ]}
              />
            </Section>
            <Section title="Runs" beside={plural(plan.items, "run")}>
              <Table
                label="Runs of the plan"
                rows={items}
                keyOf={(item) => String(item.number)}
                total={plan.items}
                state={{ page }}
                onState={(next) => setPage(next.page ?? 1)}
                columns={[
                  {
                    id: "number",
                    header: "No.",
                    number: true,
                    value: (item) => item.number,
                    cell: (item) => item.number,
                  },
                  {
                    id: "state",
                    header: "State",
                    value: (item) => item.state,
                    cell: (item) => <State state={item.state} />,
                  },
                  { id: "action", header: "Does", value: (item) => item.action, cell: (item) => item.action },
                  {
                    id: "producer",
                    header: "Job",
                    wide: true,
                    value: (item) => item.producer,
                    cell: (item) => <span className="mono">{item.producer ?? "–"}</span>,
                  },
                  {
                    id: "makes",
                    header: "Makes",
                    value: (item) => item.makes.map((one) => `${one.entity}@${one.instances.join(",")}`).join(" "),
                    cell: (item) => (
                      <span className="mono small">
                        {item.makes.map((one) => `${one.entity}@${one.instances.join(", ")}`).join(", ")}
                      </span>
                    ),
                  },
                  {
                    id: "needs",
                    header: "After",
                    minor: true,
                    value: (item) => item.needs.join(" "),
                    cell: (item) => item.needs.join(", ") || "–",
                  },
                  {
                    id: "run",
                    header: "Run",
                    minor: true,
                    value: (item) => item.run,
                    cell: (item) => (item.run ? <RunLink id={item.run} /> : "–"),
                  },
                  { id: "note", header: "Note", minor: true, value: (item) => item.note, cell: (item) => item.note },
                ]}
                empty={<p className="soft">Nothing is to be made.</p>}
              />
            </Section>
          </>
        )}
      </Answered>
    </Page>
  );
}
