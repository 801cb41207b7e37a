// What a reader with the role write may do with a plan in its state, and who runs it.
import { useMe, useSend } from "../../api/queries.ts";
import type { Answer } from "../../api/client.ts";
import { Refused } from "../../parts/refused.tsx";
import { Workers } from "./workers.tsx";

type OnePlan = Answer<"/api/v2/plans/{plan}">;
export type PlanView = OnePlan["plan"];

export function Steer({ plan, workers }: { plan: PlanView; workers: OnePlan["workers"] }) {
  const me = useMe();
  const apply = useSend("post", "/api/v2/plans/{plan}/apply");
  const pause = useSend("post", "/api/v2/plans/{plan}/pause");
  const resume = useSend("post", "/api/v2/plans/{plan}/resume");
  const retry = useSend("post", "/api/v2/plans/{plan}/retry");
  const cancel = useSend("post", "/api/v2/plans/{plan}/cancel");
  const given = { path: { plan: plan.id } };
  const may = me.data?.role === "write" || me.data?.role === "admin";
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
      {!["done", "cancelled"].includes(plan.state) && (
        <Workers workers={workers} waitedFor={plan.state === "running"} />
      )}
      <Refused error={apply.error ?? pause.error ?? resume.error ?? retry.error ?? cancel.error} />
    </>
  );
}
