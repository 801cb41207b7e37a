// One plan: its runs in order, live; apply, pause, go on, take failed ones again, cancel.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Answer } from "../../api/client.ts";
import { useAsk, useMe, useSend } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command } from "../../parts/message.tsx";
import { RunLink } from "../../parts/node-link.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { PAGE, Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Refused } from "../metadata/described.tsx";
import { Progress } from "./progress.tsx";

type PlanView = Answer<"/api/v2/plans/{plan}">["plan"];

const route = getRouteApi("/plans/$id");

export function PlanPage() {
  const { id } = route.useParams();
  const [page, setPage] = useState(1);
  const one = useAsk(
    "/api/v2/plans/{plan}",
    { path: { plan: id }, query: { limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true, every: 3000 },
  );
  return (
    <Page title={one.data?.plan.reason || "Plan"} lede={one.data && <State state={one.data.plan.state} />}>
      <Answered of={one} lines={8}>
        {({ plan, items, left, unrepairable }) => (
          <>
            <Section title="Progress">
              <Progress plan={plan} />
              <Steer plan={plan} />
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

function Steer({ plan }: { plan: PlanView }) {
  const me = useMe();
  const apply = useSend("post", "/api/v2/plans/{plan}/apply");
  const pause = useSend("post", "/api/v2/plans/{plan}/pause");
  const resume = useSend("post", "/api/v2/plans/{plan}/resume");
  const retry = useSend("post", "/api/v2/plans/{plan}/retry");
  const cancel = useSend("post", "/api/v2/plans/{plan}/cancel");
  const given = { path: { plan: plan.id } };
  const may = me.data?.role === "write" || me.data?.role === "admin";
  const waits = plan.state === "running" && plan.running === 0 && plan.waiting > 0;
  return (
    <>
      {may && (
        <div className="actions">
          {plan.state === "planned" && (
            <button type="button" className="button" onClick={() => apply.mutate(given)}>
              Apply
            </button>
          )}
          {plan.state === "running" && (
            <button type="button" className="button quiet" onClick={() => pause.mutate(given)}>
              Pause
            </button>
          )}
          {plan.state === "paused" && (
            <button type="button" className="button" onClick={() => resume.mutate(given)}>
              Go on
            </button>
          )}
          {plan.failed > 0 && (
            <button type="button" className="button quiet" onClick={() => retry.mutate(given)}>
              Take failed runs again
            </button>
          )}
          {!["done", "cancelled"].includes(plan.state) && (
            <button type="button" className="button quiet" onClick={() => cancel.mutate(given)}>
              Cancel
            </button>
          )}
        </div>
      )}
      {me.data && !may && <p className="soft">You may read. To steer a plan, ask for the role write.</p>}
      {waits && (
        <p className="notice-line" role="status">
          No run is under way. If no worker is connected, start one: <Command text="headwater backfill work" />
        </p>
      )}
      <Refused error={apply.error ?? pause.error ?? resume.error ?? retry.error ?? cancel.error} />
    </>
  );
}
