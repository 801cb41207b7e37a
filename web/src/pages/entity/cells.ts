// Instances as a calendar: each with its state, in slots of a grid whose rows and columns are units of time. Pure.
import { dateOf, type Span } from "./spans.ts";

export interface Stretch {
  instances: string;
  status: string;
  valid: boolean;
}

export interface Cell {
  instance: string;
  start: string | null;
  state: string;
}

/** One square of the calendar: an instance, or all that fall into its unit of time. `state`: the worst of theirs. */
export interface Slot {
  column: number;
  cells: Cell[];
  state: string;
}

export interface Row {
  label: string;
  /** The stretch of time to look at closer, as `spans.ts` writes it. */
  closer: string | null;
  slots: Slot[];
}

export interface Grid {
  columns: readonly { column: number; label: string }[];
  rows: readonly Row[];
}

/** The state to show: a completed part that may not be relied on is what stands in its way. */
export function stateOf(stretch: Stretch | undefined): string {
  if (!stretch) return "missing";
  if (stretch.status === "completed") return stretch.valid ? "valid" : "doubted";
  return stretch.status;
}

/** `periods` in order of time. An end of a stretch is found by its place among them: where clocks go back, texts are not in order. */
export function cellsOf(
  periods: readonly { instance: string; start: string | null }[],
  stretches: readonly Stretch[],
): Cell[] {
  const place = new Map(periods.map(({ instance }, index) => [instance, index]));
  const states: string[] = [];
  for (const stretch of stretches) {
    const [from, to = from] = stretch.instances.split("..");
    const first = place.get(from);
    // Past the last period that was asked for.
    if (first === undefined) continue;
    const last = place.get(to) ?? periods.length - 1;
    for (let index = first; index <= last; index++) states[index] = stateOf(stretch);
  }
  return periods.map(({ instance, start }, index) => ({ instance, start, state: states[index] ?? "missing" }));
}

/** The worst first: what needs a person stands before what waits, and that before what is right. */
const WORST = [
  ...["wrong", "tainted", "inherited", "failed", "doubted", "suspect", "withheld", "quarantined", "outdated"],
  ...["late", "partial", "missing", "running", "estimated", "deleted", "not over", "valid"],
];
const badness = (state: string) => {
  const at = WORST.indexOf(state);
  // An unknown state is between what waits and what is right.
  return at === -1 ? WORST.indexOf("valid") - 0.5 : at;
};

/** How many instances have each state, the worst first. */
export function countStates(cells: readonly Cell[]): [state: string, count: number][] {
  const counts = new Map<string, number>();
  for (const { state } of cells) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => badness(a) - badness(b));
}

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (value: number) => String(value).padStart(2, "0");
const weekday = (date: string) => (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;

interface Spot {
  row: string;
  closer: string | null;
  column: number;
  label: string;
}

/** Where an instance stands: hours of a day, days of a week or month, weeks, months or quarters of a year. */
function spotOf({ instance, start }: Cell, span: Span): Spot {
  const date = dateOf(instance, start);
  if (date === null) return { row: "", closer: null, column: 0, label: "" };
  const [year, month, day] = date.split("-").map(Number);
  const time = /T(\d\d)(?::(\d\d))?/.exec(instance);
  if (span === "day" && time) {
    const minute = Number(time[2] ?? 0);
    return { row: `${time[1]}:00`, closer: null, column: minute, label: two(minute) };
  }
  if (span === "year")
    return { row: `${MONTHS[month - 1]} ${year}`, closer: date.slice(0, 7), column: day, label: String(day) };
  if (span === "decade") {
    const unit = /^\d{4}-([WQ])(\d+)/.exec(instance);
    const row = unit ? instance.slice(0, 4) : String(year);
    if (unit) return { row, closer: row, column: Number(unit[2]), label: unit[1] === "Q" ? `Q${unit[2]}` : unit[2] };
    return { row, closer: row, column: month, label: MONTHS[month - 1] };
  }
  if (time) return { row: `${DAYS[weekday(date)]} ${date}`, closer: date, column: Number(time[1]), label: time[1] };
  const monday = new Date(Date.UTC(year, month - 1, day - weekday(date))).toISOString().slice(0, 10);
  return { row: `week of ${monday}`, closer: null, column: weekday(date), label: DAYS[weekday(date)] };
}

export function gridOf(cells: readonly Cell[], span: Span): Grid {
  const rows = new Map<string, Row>();
  const columns = new Map<number, string>();
  for (const cell of cells) {
    const { row: label, closer, column, label: head } = spotOf(cell, span);
    columns.set(column, head);
    const row = rows.get(label) ?? { label, closer, slots: [] };
    rows.set(label, row);
    // Within a row time goes on, so an instance of the same column follows the one before it.
    const last = row.slots.at(-1);
    if (last?.column === column) {
      last.cells.push(cell);
      if (badness(cell.state) < badness(last.state)) last.state = cell.state;
    } else row.slots.push({ column, cells: [cell], state: cell.state });
  }
  return {
    columns: [...columns].sort(([a], [b]) => a - b).map(([column, label]) => ({ column, label })),
    rows: [...rows.values()],
  };
}

/** The range of two instances, as the server writes it; both ends belong to it. */
export function rangeOf(cells: readonly Cell[], a: string, b: string): string {
  if (a === b) return a;
  const order = cells.map((cell) => cell.instance);
  return order.indexOf(a) < order.indexOf(b) ? `${a}..${b}` : `${b}..${a}`;
}

/** The instances between the ends of a range, by their places; empty if one of them is not shown. */
export function within(cells: readonly Cell[], range: string | undefined): ReadonlySet<string> {
  if (!range) return new Set();
  const [from, to = from] = range.split("..");
  const order = cells.map((cell) => cell.instance);
  const [first, last] = [order.indexOf(from), order.indexOf(to)];
  return new Set(first === -1 || last === -1 ? [] : order.slice(first, last + 1));
}
