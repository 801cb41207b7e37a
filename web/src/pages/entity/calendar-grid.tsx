// The squares of a calendar with the units of time above and beside them. Arrow keys move, Enter chooses, Shift or dragging extends.
import { type KeyboardEvent, useRef } from "react";
import { lookOf, StateMark } from "../../parts/state.tsx";
import { type Cell, countStates, type Grid, rangeOf, type Slot } from "./cells.ts";
import { type Span, spanOf } from "./spans.ts";

interface Props {
  label: string;
  grid: Grid;
  /** All that the grid shows, in order of time. */
  cells: readonly Cell[];
  chosen: ReadonlySet<string>;
  /** The range as the server writes it, or nothing. */
  onChoose: (range: string | undefined) => void;
  /** The spans that can be looked at: the head of a row of such a span leads to it. */
  closer: readonly Span[];
  onCloser: (at: string) => void;
}

const first = (slot: Slot) => slot.cells[0].instance;
const last = (slot: Slot) => slot.cells[slot.cells.length - 1].instance;
const wordsOf = (slot: Slot) =>
  slot.cells.length === 1
    ? `${first(slot)}: ${lookOf(slot.state).word}`
    : `${first(slot)} to ${last(slot)}: ${countStates(slot.cells)
        .map(([state, count]) => `${count} ${lookOf(state).word}`)
        .join(", ")}`;

export function CalendarGrid({ label, grid, cells, chosen, onChoose, closer, onCloser }: Props) {
  /** The end that a second click, Shift or dragging goes on from; `open` while a plain click chooses the other end. */
  const anchor = useRef<{ slot: Slot; open: boolean } | null>(null);
  const down = useRef<Slot | null>(null);
  const dragged = useRef(false);
  const choose = (a: Slot, b: Slot) => {
    const place = ({ cells: [{ instance }] }: Slot) => cells.findIndex((cell) => cell.instance === instance);
    onChoose(place(a) <= place(b) ? rangeOf(cells, first(a), last(b)) : rangeOf(cells, first(b), last(a)));
  };
  const press = (slot: Slot, extend: boolean) => {
    const began = chosen.size > 0 ? anchor.current : null;
    if (began?.open && !extend && first(began.slot) === first(slot)) {
      anchor.current = null;
      onChoose(undefined);
    } else if (began && (began.open || extend)) {
      anchor.current = { slot: began.slot, open: false };
      choose(began.slot, slot);
    } else {
      anchor.current = { slot, open: true };
      choose(slot, slot);
    }
  };
  const drag = (slot: Slot) => {
    if (!down.current) return;
    dragged.current = true;
    anchor.current = { slot: down.current, open: false };
    choose(down.current, slot);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const to = neighbour(event.currentTarget, event.key);
    if (!to) return;
    event.preventDefault();
    to.focus();
  };
  const home = grid.rows.flatMap((row) => row.slots).find((slot) => chosen.has(first(slot))) ?? grid.rows[0]?.slots[0];
  const headed = grid.columns.some(({ label: head }) => head !== "");
  return (
    <div className="calendar" role="grid" aria-label={label} onKeyDown={onKeyDown}>
      {headed && (
        <div className="calendar-row" role="row">
          <span className="calendar-label" />
          {grid.columns.map(({ column, label: head }) => (
            <span className="calendar-head mono" role="columnheader" key={column}>
              {head}
            </span>
          ))}
        </div>
      )}
      {grid.rows.map((row) => (
        <div className="calendar-row" role="row" key={row.label}>
          {headed && (
            <span className="calendar-label mono" role="rowheader">
              {row.closer && closer.includes(spanOf(row.closer) as Span) ? (
                <button type="button" className="plain" onClick={() => onCloser(row.closer ?? "")}>
                  {row.label}
                </button>
              ) : (
                row.label
              )}
            </span>
          )}
          {grid.columns.map(({ column }) => {
            const slot = row.slots.find((one) => one.column === column);
            if (!slot) return <span className="cell-gap" role="gridcell" key={column} />;
            const on = slot.cells.some(({ instance }) => chosen.has(instance));
            return (
              <span role="gridcell" key={column} aria-selected={on}>
                <button
                  type="button"
                  data-instance={first(slot)}
                  data-column={column}
                  tabIndex={slot === home ? 0 : -1}
                  className={`cell${on ? " is-on" : ""}`}
                  aria-label={wordsOf(slot)}
                  title={wordsOf(slot)}
                  onPointerDown={() => {
                    down.current = slot;
                    dragged.current = false;
                  }}
                  onPointerEnter={(event) => {
                    if (event.buttons & 1) drag(slot);
                  }}
                  onClick={(event) => {
                    if (!dragged.current) press(slot, event.shiftKey);
                    dragged.current = false;
                  }}
                >
                  <StateMark state={slot.state} />
                  {slot.cells.length > 1 && countStates(slot.cells).length > 1 && <i className="mixed" />}
                </button>
              </span>
            );
          })}
        </div>
      ))}
    </div>
  );
}

/** The square that an arrow key leads to from the focused one: beside it in time, or in its column of the next row that has one. */
function neighbour(grid: HTMLElement, key: string): HTMLElement | undefined {
  const all = [...grid.querySelectorAll<HTMLElement>("[data-instance]")];
  const now = all.indexOf(document.activeElement as HTMLElement);
  if (now === -1) return undefined;
  if (key === "ArrowRight" || key === "ArrowLeft") return all[now + (key === "ArrowRight" ? 1 : -1)];
  if (key === "Home") return all[0];
  if (key === "End") return all.at(-1);
  if (key !== "ArrowDown" && key !== "ArrowUp") return undefined;
  const column = all[now].dataset.column;
  const row = (one: HTMLElement) => one.closest(".calendar-row");
  const rest = key === "ArrowDown" ? all.slice(now + 1) : all.slice(0, now).reverse();
  return rest.find((one) => one.dataset.column === column && row(one) !== row(all[now]));
}
