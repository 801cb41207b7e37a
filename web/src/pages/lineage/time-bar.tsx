// The slider of times: the graph as it was, from its first edge to now, on one drawing that does not jump. A mark for each
// time at which something appeared; two buttons step from one to the next.
import { useEffect, useState } from "react";
import { useAsk } from "../../api/queries.ts";
import { exact } from "../../format.ts";
import { momentsOf } from "./moments.ts";
import type { Patch, State } from "./lineage-page.tsx";

const utc = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
/** A slider that moves asks only when it rests. */
const REST_MS = 180;

export function TimeBar({ state, change, asOf }: { state: State; change: Patch; asOf(at: string | undefined): void }) {
  const { node, direction, depth, nodes: max_nodes } = state;
  const today = useAsk("/api/v2/lineage", { query: { node, direction, depth, max_nodes } });
  const [now] = useState(() => Math.ceil(Date.now() / 1000) * 1000);
  const moments = today.data ? momentsOf(today.data.edges, now) : [];
  const first = moments[0] ?? now - 86_400_000;
  const at = state.asOf ? Date.parse(state.asOf) : now;
  const go = (ms: number | undefined) => asOf(ms === undefined || ms >= now ? undefined : utc(ms));
  const before = moments.filter((moment) => moment < at - 999).at(-1);
  const after = moments.find((moment) => moment > at + 999) ?? (at < now ? now : undefined);
  return (
    <div className="time-bar" role="group" aria-label="Time">
      <button
        type="button"
        className="button quiet"
        disabled={before === undefined}
        aria-label="To the change before"
        title="To the change before"
        onClick={() => go(before)}
      >
        ◀
      </button>
      <span className="time-slots">
        <Slide label="As of" from={first} to={now} value={at} onRest={go} />
        {state.since && (
          <Slide
            label="Compared with"
            from={first}
            to={now}
            value={Date.parse(state.since)}
            onRest={(ms) => change({ since: utc(ms) }, true)}
          />
        )}
        <svg className="time-marks" viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true">
          {moments.slice(-400).map((moment) => (
            <path key={moment} d={`M${(1000 * (moment - first)) / Math.max(now - first, 1)} 0v6`} />
          ))}
        </svg>
      </span>
      <button
        type="button"
        className="button quiet"
        disabled={after === undefined}
        aria-label="To the next change"
        title="To the next change"
        onClick={() => go(after)}
      >
        ▶
      </button>
      <span className="soft time-word">{state.asOf ? exact(state.asOf) : "now"}</span>
      {!state.since && state.asOf && (
        <button type="button" className="button quiet" onClick={() => change({ since: state.asOf! })}>
          Compare from here
        </button>
      )}
    </div>
  );
}

interface SlideProps {
  label: string;
  from: number;
  to: number;
  value: number;
  onRest(ms: number): void;
}

function Slide({ label, from, to, value, onRest }: SlideProps) {
  const [held, setHeld] = useState<number | null>(null);
  useEffect(() => {
    if (held === null) return;
    const timer = setTimeout(() => {
      setHeld(null);
      if (Math.abs(held - value) > 999) onRest(held);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [held, value, onRest]);
  const shown = Math.min(Math.max(held ?? value, from), to);
  return (
    <input
      type="range"
      aria-label={label}
      title={`${label}: ${exact(utc(shown))}`}
      aria-valuetext={exact(utc(shown))}
      min={from}
      max={to}
      step={Math.max(Math.round((to - from) / 1000), 1)}
      value={shown}
      onChange={(event) => setHeld(event.currentTarget.valueAsNumber)}
    />
  );
}
