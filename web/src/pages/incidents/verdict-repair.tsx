// The way out of a verdict, without a terminal: look at the plan, make it, apply it, follow it; or say that the cause is mended, or retract.
import { Link } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { useAsk, useMe, useSend } from "../../api/queries.ts";
import { duration, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Refused } from "../../parts/refused.tsx";
import { Progress } from "../plans/progress.tsx";
import { Steer } from "../plans/steer.tsx";
import { WORKERS_EVERY, workersOf } from "../plans/workers.tsx";

type One = Answer<"/api/v2/incidents/{incident}">;

export function VerdictRepair({ incident }: { incident: One["incident"] }) {
  const me = useMe();
  const preview = useSend("post", "/api/v2/plans");
  const plan = useSend("post", "/api/v2/plans");
  const fix = useSend("post", "/api/v2/incidents/{incident}/fix");
  const retract = useSend("post", "/api/v2/incidents/{incident}/retract");
  const may = me.data?.role === "write" || me.data?.role === "admin";
  if (!may) return me.data ? <p className="soft">You may read. To plan or close it, ask for the role write.</p> : null;
  const path = { incident: incident.id };
  return (
    <Section title="Repair">
      <div className="actions">
        <button
          type="button"
          className="button"
          disabled={preview.isPending}
          onClick={() => preview.mutate({ body: { incident: incident.id, dry_run: true } })}
        >
          Plan the repair
        </button>
        {incident.state === "open" && (
          <button
            type="button"
            className="button quiet"
            title="Runs that begin from now on are right"
            onClick={() => fix.mutate({ path, body: { note: "the cause is mended" } })}
          >
            The cause is mended
          </button>
        )}
        <button
          type="button"
          className="button quiet"
          onClick={() => retract.mutate({ path, body: { note: "a false alarm" } })}
        >
          Retract: a false alarm
        </button>
      </div>
      <Refused error={preview.error ?? plan.error ?? fix.error ?? retract.error} />
      {preview.data && (
        <div className="range">
          <p>
            {plural(preview.data.items, "run")} would be made
            {preview.data.cost.compute_p50 > 0 &&
              `, about ${duration(preview.data.cost.compute_p50 * 1000)} of computing`}
            {preview.data.left.length > 0 && `; ${plural(preview.data.left.length, "range")} cannot be repaired`}.
            Nothing is planned yet.
          </p>
          <ol className="list">
            {preview.data.groups.map((group) => (
              <li key={group.first}>
                <span>
                  {group.level + 1}. {group.action}{" "}
                  <span className="mono">{group.producer ?? group.entities.join(", ")}</span>
                </span>
                <small className="soft">{plural(group.items, "run")}</small>
              </li>
            ))}
          </ol>
          <button
            type="button"
            className="button"
            disabled={plan.isPending || preview.data.items === 0}
            onClick={() =>
              plan.mutate({ body: { incident: incident.id, dry_run: false } }, { onSuccess: () => preview.reset() })
            }
          >
            Make this plan
          </button>
        </div>
      )}
      <Plans incident={incident.id} />
    </Section>
  );
}

/** The plans made for this incident, steered and followed where it is read. */
function Plans({ incident }: { incident: string }) {
  const list = useAsk("/api/v2/plans", { query: { incident, limit: 20 } }, { every: WORKERS_EVERY });
  return (
    <Answered of={list} lines={1}>
      {({ plans, total, workers }) => (
        <>
          {plans.map((plan) => (
            <div className="range" key={plan.id} role="region" aria-label={`Plan ${plan.id.slice(0, 8)}`}>
              <p className="plan-line">
                <State state={plan.state} /> <Progress plan={plan} />
                <Link to="/plans/$id" params={{ id: plan.id }}>
                  Its runs one by one
                </Link>
              </p>
              <Steer plan={plan} workers={workersOf(workers, plan.id)} />
            </div>
          ))}
          {total > plans.length && <p className="soft">and {plural(total - plans.length, "older plan")}</p>}
        </>
      )}
    </Answered>
  );
}
