// Instances as cells of a calendar: each with its state, in rows that fit its period. Pure.

export interface Stretch {
  instances: string;
  status: string;
  valid: boolean;
  states: readonly string[];
}

export interface Cell {
  instance: string;
  start: string | null;
  state: string;
}

/** The state to show: a completed part that may not be relied on is what stands in its way. */
export function stateOf(stretch: Stretch | undefined): string {
  if (!stretch) return "missing";
  if (stretch.status === "completed") return stretch.valid ? "valid" : "doubted";
  return stretch.status;
}

/** `2024-03-01..2024-03-09` holds both ends; texts of one period are in order of time. */
export function holds(range: string, instance: string): boolean {
  const [from, to] = range.includes("..") ? range.split("..") : [range, range];
  return (from === "" || from <= instance) && (to === "" || instance <= to);
}

export function cellsOf(
  periods: readonly { instance: string; start: string | null }[],
  stretches: readonly Stretch[],
): Cell[] {
  return periods.map(({ instance, start }) => ({
    instance,
    start,
    state: stateOf(stretches.find((stretch) => holds(stretch.instances, instance))),
  }));
}

export interface Row {
  label: string;
  cells: Cell[];
}

/** Hours by day, days by week, all else ten in a row. */
export function rowsOf(cells: readonly Cell[]): Row[] {
  const rows: Row[] = [];
  for (const cell of cells) {
    const label = labelOf(cell.instance);
    const last = rows.at(-1);
    if (last && last.label === label && (label !== "" || last.cells.length < 10)) last.cells.push(cell);
    else rows.push({ label, cells: [cell] });
  }
  return rows;
}

function labelOf(instance: string): string {
  if (/^\d{4}-\d\d-\d\dT/.test(instance)) return instance.slice(0, 10);
  if (/^\d{4}-\d\d-\d\d$/.test(instance)) {
    const day = new Date(`${instance}T00:00:00Z`);
    day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7));
    return `week of ${day.toISOString().slice(0, 10)}`;
  }
  return "";
}

/** The range of two cells that were clicked, as the server writes it. */
export function rangeOf(cells: readonly Cell[], a: string, b: string): string {
  if (a === b) return a;
  const order = cells.map((cell) => cell.instance);
  return order.indexOf(a) < order.indexOf(b) ? `${a}..${b}` : `${b}..${a}`;
}
