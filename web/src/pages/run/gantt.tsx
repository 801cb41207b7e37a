// A run and its children on one scale of time: what ran when, what waited, what failed.
import type { RunDetail } from "../../api/types.ts";
import { duration, exact } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { RunLink } from "../../parts/node-link.tsx";
import { lookOf, StateMark } from "../../parts/state.tsx";

export function Gantt({ run }: { run: RunDetail }) {
  const rows = [run, ...[...run.children].sort((a, b) => (a.started_at < b.started_at ? -1 : 1))];
  const names = distinguish(rows.map((row) => ({ id: row.job })));
  const endOf = (row: { started_at: string; ended_at: string | null; last_event_at?: string | null }) =>
    Date.parse(row.ended_at ?? row.last_event_at ?? row.started_at);
  const from = Math.min(...rows.map((row) => Date.parse(row.started_at)));
  const to = Math.max(...rows.map(endOf), from + 1);
  const at = (ms: number) => `${((ms - from) / (to - from)) * 100}%`;
  return (
    <ol className="gantt">
      {rows.map((row) => {
        const start = Date.parse(row.started_at);
        const word = `${lookOf(row.state).word}, ${duration(row.duration_ms)}, from ${exact(row.started_at)}`;
        return (
          <li key={row.id}>
            <span className="gantt-name">
              <StateMark state={row.state} />
              <RunLink id={row.id}>{names.get(row.job)}</RunLink>
            </span>
            <span className="gantt-lane" title={word}>
              <i
                className={`tone-${lookOf(row.state).tone}`}
                style={{ left: at(start), width: `max(2px, calc(${at(endOf(row))} - ${at(start)}))` }}
              />
              <span className="sr-only">{word}</span>
            </span>
            <span className="gantt-took">{duration(row.duration_ms)}</span>
          </li>
        );
      })}
    </ol>
  );
}
