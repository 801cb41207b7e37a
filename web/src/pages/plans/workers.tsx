// Who runs what is applied: the workers that are connected, or how to start one.
import type { Answer } from "../../api/client.ts";
import { plural } from "../../format.ts";
import { Command } from "../../parts/message.tsx";
import { When } from "../../parts/when.tsx";

type Worker = Answer<"/api/v2/plans">["workers"][number];

/** A worker that ends without a word counts as gone after half a minute. */
export const WORKERS_EVERY = 15_000;

/** Those that take items of a plan. */
export const workersOf = (workers: readonly Worker[], plan: string) =>
  workers.filter((one) => one.plan === null || one.plan === plan);

export function Workers({ workers, waitedFor }: { workers: readonly Worker[]; waitedFor: boolean }) {
  if (workers.length > 0) {
    const last = workers.reduce((latest, one) => (one.seen_at > latest ? one.seen_at : latest), "");
    const names = workers.map((one) => one.name).join(", ");
    return (
      <p className="soft" role="status" title={names}>
        {plural(workers.length, "worker")} connected, last seen <When at={last} />
      </p>
    );
  }
  return (
    <p className={waitedFor ? "notice-line" : "soft"} role="status">
      No worker is connected: start one with <Command text="headwater backfill work --packages packages" />
    </p>
  );
}
