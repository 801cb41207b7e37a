// Runs one under another, each with a bar for how long it took next to its neighbours.
import type { Run } from "../api/types.ts";
import { duration, exact, shortId } from "../format.ts";
import { When } from "../pages/when.tsx";
import { navigate } from "../url.ts";

export function RunList({ runs, named = false, none }: { runs: readonly Run[]; named?: boolean; none: string }) {
  if (runs.length === 0) return <p className="soft">{none}</p>;
  const longest = Math.max(...runs.map((run) => run.duration_ms ?? 0), 1);
  return (
    <div>
      {runs.map((run) => (
        <button
          type="button"
          className="run"
          key={run.id}
          onClick={() => navigate({ run: run.id })}
          title={`Run ${run.id}\nstarted ${exact(run.started_at)}${run.nominal_start ? `\nfor ${exact(run.nominal_start)}` : ""}`}
        >
          <i className={`dot ${run.effective_state.toLowerCase()}`} />
          <span style={{ minWidth: 0 }}>
            {named && <strong className="name mono">{shortId(run.job)}</strong>}
            <span>
              {run.state.toLowerCase()}
              {run.effective_state !== run.state && `, a child ${run.effective_state.toLowerCase()}`}{" "}
              <span className="soft">
                <When at={run.started_at} />
              </span>
            </span>
            <span
              className={`bar ${run.effective_state.toLowerCase()}`}
              style={{ display: "block", width: `${((run.duration_ms ?? 0) / longest) * 100}%` }}
            />
          </span>
          <span className="took">{duration(run.duration_ms)}</span>
          {run.error && (
            <span className="why name" title={run.error}>
              {run.error}
            </span>
          )}
        </button>
      ))}
    </div>
  );
}
