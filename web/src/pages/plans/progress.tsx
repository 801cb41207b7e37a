import { plural } from "../../format.ts";

interface Counts {
  items: number;
  done: number;
  skipped: number;
  failed: number;
  running: number;
}

/** How far a plan is: done, failed and running on one bar, with the words. */
export function Progress({ plan }: { plan: Counts }) {
  const part = (n: number) => `${(n / Math.max(plan.items, 1)) * 100}%`;
  const over = plan.done + plan.skipped;
  const words = [
    `${over} of ${plural(plan.items, "run")}`,
    plan.failed && `${plan.failed} failed`,
    plan.running && `${plan.running} running`,
  ];
  return (
    <span className="progress-cell">
      <span className="progress-bar" aria-hidden="true">
        <i className="tone-good" style={{ width: part(over) }} />
        <i className="tone-bad" style={{ width: part(plan.failed) }} />
        <i className="tone-busy" style={{ width: part(plan.running) }} />
      </span>
      {words.filter(Boolean).join(", ")}
    </span>
  );
}
