// What the strokes and dots mean. Only what can be on the screen is listed.
import { memo } from "react";
import type { NodeState } from "./model.ts";

interface Props {
  columns: boolean;
  indirect: boolean;
  /** The states that nodes have. */
  states: ReadonlySet<NodeState>;
  /** Whether only some runs reported an edge that is drawn. */
  intermittent: boolean;
  /** What a dotted edge means. */
  dotted: string;
  lens: readonly { tint: string; word: string }[] | null;
}

const STATES = ["COMPLETED", "FAILED", "RUNNING", "ABORTED", "STALLED", "LOST"] as const satisfies NodeState[];

export const Legend = memo(function Legend({ columns, indirect, states, intermittent, dotted, lens }: Props) {
  if (lens)
    return (
      <ul className="legend" aria-label="Legend">
        {lens.map(({ tint, word }) => (
          <li key={word} title={word}>
            <i className="swatch" style={{ background: tint }} />
            <span className="swatch-word">{word}</span>
          </li>
        ))}
      </ul>
    );
  return (
    <ul className="legend" aria-label="Legend">
      <Stroke className="edge" label="observed" />
      <Stroke className="edge" dash="1.5 4" label={dotted} />
      {intermittent && <Stroke className="edge" dash="9 3" label="not by every run" />}
      {columns && <Stroke className="link" label="column" />}
      {columns && indirect && <Stroke className="indirect" dash="5 3" label="indirect (filter, join)" />}
      {STATES.filter((state) => states.has(state)).map((state) => (
        <li key={state}>
          <span className={`dot ${state.toLowerCase()}`} /> {state.toLowerCase()}
        </li>
      ))}
    </ul>
  );
});

function Stroke({ className, dash, label }: { className: string; dash?: string; label: string }) {
  return (
    <li>
      <svg width="22" height="8" aria-hidden="true" className={`stroke ${className}`}>
        <path d="M1 4h20" strokeDasharray={dash} />
      </svg>
      {label}
    </li>
  );
}
