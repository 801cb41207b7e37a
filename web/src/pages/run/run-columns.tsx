// The columns of a list of runs: durations as bars on one scale.
import type { Run } from "../../api/types.ts";
import { duration } from "../../format.ts";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { State } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
import type { Column } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";

export function runColumns(names: ReadonlyMap<string, string>, longest: number, named = true): Column<Run>[] {
  const job: Column<Run> = {
    id: "job",
    header: "Job",
    wide: true,
    value: (run) => run.job,
    cell: (run) => <NodeLink id={run.job} label={names.get(run.job)} />,
  };
  return [
    ...(named ? [job] : []),
    {
      id: "started",
      header: "Started",
      value: (run) => run.started_at,
      cell: (run) => (
        <RunLink id={run.id}>
          <When at={run.started_at} />
        </RunLink>
      ),
    },
    {
      id: "state",
      header: "State",
      value: (run) => runState(run),
      cell: (run) => (
        <>
          <State state={runState(run)} />
          {run.effective_state !== run.state && <small className="soft"> a child</small>}
        </>
      ),
    },
    {
      id: "took",
      header: "Took",
      number: true,
      value: (run) => run.duration_ms,
      cell: (run) => (
        <span className="bar-cell">
          {duration(run.duration_ms)}
          <i className="bar" style={{ width: `${((run.duration_ms ?? 0) / longest) * 100}%` }} aria-hidden="true" />
        </span>
      ),
    },
    {
      id: "statement",
      header: "Statement",
      minor: true,
      value: (run) => run.statement,
      cell: (run) => run.statement ?? <span className="soft">–</span>,
    },
    {
      id: "user",
      header: "User",
      minor: true,
      value: (run) => run.user,
      cell: (run) => run.user ?? <span className="soft">–</span>,
    },
    {
      id: "error",
      header: "Error",
      minor: true,
      value: (run) => run.error ?? run.stalled_reason,
      cell: (run) => (
        <span className="name" title={run.error ?? run.stalled_reason ?? undefined}>
          {run.error ?? run.stalled_reason}
        </span>
      ),
    },
    { id: "id", header: "Id", minor: true, value: (run) => run.id, cell: (run) => <RunLink id={run.id} /> },
  ];
}
