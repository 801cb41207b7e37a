// The state of a run as it is shown: a run that fell silent, or whose signs of life stopped, is not simply running.
interface RunReport {
  state: string;
  effective_state?: string;
  stalled: boolean;
  lost: boolean;
}

/** States of runs, the one that needs a person most first. */
const SERIOUS = ["FAILED", "LOST", "STALLED", "ABORTED", "RUNNING", "OTHER", "NEW", "COMPLETED"];

export const bySeriousness = (a: string, b: string) => SERIOUS.indexOf(a) - SERIOUS.indexOf(b);

export const runState = (run: RunReport): string =>
  run.lost ? "LOST" : run.stalled ? "STALLED" : (run.effective_state ?? run.state);
