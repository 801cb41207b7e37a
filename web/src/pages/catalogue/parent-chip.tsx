// That a list has only what is part of one run or job, which run or job that is, and the way out of it.
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import type { ListSearch } from "./questions.ts";

interface Props {
  /** A run's id, or a job's node id. */
  parent: string;
  change(patch: ListSearch): void;
}

export function ParentChip({ parent, change }: Props) {
  const isJob = parent.startsWith("job:");
  return (
    <span className="chip">
      part of {isJob ? <NodeLink id={parent} /> : <RunLink id={parent}>run {parent.slice(0, 8)}</RunLink>}{" "}
      <button
        type="button"
        className="plain"
        aria-label="Do not narrow to what is part of it"
        onClick={() => change({ parent: undefined, page: undefined })}
      >
        ×
      </button>
    </span>
  );
}
