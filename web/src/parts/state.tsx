// One vocabulary of states: a shape, a colour and a word for each. Never a colour alone.

interface Look {
  word: string;
  tone: "good" | "bad" | "warn" | "busy" | "none" | "dim";
  /** Drawn inside a 12 × 12 box. */
  shape: string;
  filled: boolean;
}

const CIRCLE = "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z";
const TRIANGLE = "M6 1.2 11.2 10.6H.8z";
const DIAMOND = "M6 .8 11.2 6 6 11.2.8 6z";
const SQUARE = "M1.5 1.5h9v9h-9z";
const CLOCK = `${CIRCLE}M6 3.6V6l1.8 1.2`;
const RING = CIRCLE;

const LOOKS: Record<string, Look> = {
  completed: { word: "completed", tone: "good", shape: CIRCLE, filled: true },
  failed: { word: "failed", tone: "bad", shape: TRIANGLE, filled: true },
  running: { word: "running", tone: "busy", shape: RING, filled: false },
  aborted: { word: "aborted", tone: "warn", shape: DIAMOND, filled: true },
  new: { word: "new", tone: "none", shape: RING, filled: false },
  other: { word: "other", tone: "none", shape: RING, filled: false },
  on_time: { word: "on time", tone: "good", shape: CIRCLE, filled: true },
  late: { word: "late", tone: "warn", shape: CLOCK, filled: false },
  very_late: { word: "very late", tone: "bad", shape: CLOCK, filled: false },
  unknown: { word: "unknown", tone: "none", shape: RING, filled: false },
  passing: { word: "passing", tone: "good", shape: CIRCLE, filled: true },
  failing: { word: "failing", tone: "bad", shape: TRIANGLE, filled: true },
  policy: { word: "breaks a policy", tone: "bad", shape: SQUARE, filled: true },
  stalled: { word: "stalled", tone: "warn", shape: DIAMOND, filled: false },
  lost: { word: "lost", tone: "bad", shape: `${DIAMOND}M4 6h4`, filled: false },
  wrong: { word: "wrong", tone: "bad", shape: DIAMOND, filled: true },
  doubted: { word: "doubted", tone: "warn", shape: DIAMOND, filled: false },
  checks: { word: "checks", tone: "bad", shape: TRIANGLE, filled: false },
  tainted: { word: "wrong", tone: "bad", shape: DIAMOND, filled: true },
  inherited: { word: "wrong upstream", tone: "bad", shape: DIAMOND, filled: false },
  suspect: { word: "doubted", tone: "warn", shape: DIAMOND, filled: false },
  withheld: { word: "withheld", tone: "warn", shape: SQUARE, filled: true },
  quarantined: { word: "withheld", tone: "warn", shape: SQUARE, filled: true },
  valid: { word: "valid", tone: "good", shape: SQUARE, filled: true },
  estimated: { word: "estimated", tone: "busy", shape: SQUARE, filled: false },
  missing: { word: "missing", tone: "dim", shape: SQUARE, filled: false },
  outdated: { word: "outdated", tone: "warn", shape: SQUARE, filled: false },
  partial: { word: "partial", tone: "warn", shape: SQUARE, filled: false },
  deleted: { word: "deleted", tone: "dim", shape: SQUARE, filled: false },
  "not over": { word: "not over yet", tone: "dim", shape: RING, filled: false },
  open: { word: "open", tone: "bad", shape: TRIANGLE, filled: true },
  fixed: { word: "fixed", tone: "good", shape: CIRCLE, filled: true },
  retracted: { word: "retracted", tone: "none", shape: RING, filled: false },
  planned: { word: "planned", tone: "none", shape: RING, filled: false },
  paused: { word: "paused", tone: "warn", shape: SQUARE, filled: false },
  works: { word: "works", tone: "good", shape: CIRCLE, filled: true },
  pulling: { word: "pulling", tone: "busy", shape: RING, filled: false },
  sent: { word: "sent", tone: "good", shape: CIRCLE, filled: true },
  refused: { word: "refused", tone: "bad", shape: TRIANGLE, filled: true },
  done: { word: "done", tone: "good", shape: CIRCLE, filled: true },
  skipped: { word: "skipped", tone: "none", shape: RING, filled: false },
  waiting: { word: "waiting", tone: "none", shape: CLOCK, filled: false },
  cancelled: { word: "cancelled", tone: "none", shape: RING, filled: false },
  active: { word: "active", tone: "good", shape: CIRCLE, filled: true },
  stale: { word: "stale", tone: "warn", shape: CLOCK, filled: false },
  one_off: { word: "one-off", tone: "none", shape: RING, filled: false },
  unread: { word: "unread", tone: "warn", shape: RING, filled: false },
  dropped: { word: "dropped", tone: "dim", shape: SQUARE, filled: false },
  recurring: { word: "recurring", tone: "good", shape: CIRCLE, filled: true },
  breaks: { word: "breaks", tone: "bad", shape: TRIANGLE, filled: true },
  changes_values: { word: "changes values", tone: "warn", shape: DIAMOND, filled: true },
  appeared: { word: "appeared", tone: "good", shape: `${SQUARE}M6 3.5v5M3.5 6h5`, filled: false },
  went: { word: "went", tone: "bad", shape: `${SQUARE}M3.5 6h5`, filled: false },
  may_change: { word: "may change on other data", tone: "warn", shape: DIAMOND, filled: false },
  cosmetic: { word: "cosmetic", tone: "none", shape: RING, filled: false },
  ad_hoc: { word: "ad hoc", tone: "none", shape: RING, filled: false },
};

/** The colours of the tones as a canvas takes them, legible on either theme. */
export const TONES = {
  good: "#2f9e62",
  bad: "#d03d3d",
  warn: "#c98a1b",
  busy: "#3c82c4",
  none: "#8b9a95",
  dim: "#8b9a95",
} as const satisfies Record<Look["tone"], string>;

export const lookOf = (state: string | null | undefined): Look =>
  (state ? LOOKS[state.toLowerCase()] : undefined) ?? {
    word: (state ?? "unknown").toLowerCase().replaceAll("_", " "),
    tone: "none",
    shape: RING,
    filled: false,
  };

export function StateMark({ state }: { state: string | null | undefined }) {
  const look = lookOf(state);
  return (
    <svg className={`mark tone-${look.tone}${look.filled ? " is-filled" : ""}`} viewBox="0 0 12 12" aria-hidden="true">
      <path d={look.shape} />
    </svg>
  );
}

export function State({ state, word }: { state: string | null | undefined; word?: string }) {
  return (
    <span className={`state tone-${lookOf(state).tone}`}>
      <StateMark state={state} />
      {word ?? lookOf(state).word}
    </span>
  );
}
