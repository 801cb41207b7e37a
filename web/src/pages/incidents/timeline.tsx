// What happened when, the oldest first: runs of the cause, and since when each thing is hit.
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { State } from "../../parts/state.tsx";
import { When } from "../../parts/when.tsx";
import type { Detail } from "./incident-page.tsx";

export function Timeline({ entries }: { entries: Detail["timeline"] }) {
  return (
    <ol className="timeline">
      {entries.map((entry) => (
        <li key={`${entry.at} ${entry.id} ${entry.state}`}>
          <span className="timeline-head">
            <When at={entry.at} full /> <State state={entry.state} />
            {entry.id.startsWith("run:") ? (
              <RunLink id={entry.id.slice("run:".length)}>run</RunLink>
            ) : /^[a-z]+:/.test(entry.id) ? (
              <NodeLink id={entry.id} />
            ) : null}
          </span>
          {entry.text && <span className="soft">{entry.text}</span>}
        </li>
      ))}
    </ol>
  );
}
