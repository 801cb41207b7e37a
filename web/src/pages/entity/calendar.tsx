// The parts of a dataset over a month, each a cell; a range of them can be marked wrong, explained, or planned anew.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type KeyboardEvent, useMemo, useState } from "react";
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { lookOf, StateMark } from "../../parts/state.tsx";
import { cellsOf, rangeOf, rowsOf } from "./cells.ts";
import { RangeActions } from "./range-actions.tsx";

const monthOf = (instance: string | null) => /^\d{4}-\d\d/.exec(instance ?? "")?.[0];

function shifted(month: string, by: number): string {
  const [year, index] = month.split("-").map(Number);
  return new Date(Date.UTC(year, index - 1 + by, 1)).toISOString().slice(0, 7);
}

export function Calendar({ entity }: { entity: string }) {
  const search = useSearch({ strict: false });
  const navigate = useNavigate();
  const one = useAsk("/api/v2/entities/{name}", { path: { name: entity } });
  const asOf = search.asOf;
  const month = search.month ?? monthOf(one.data?.entity.latest ?? null) ?? new Date().toISOString().slice(0, 7);
  const known = one.data !== undefined;
  const instances = [one.data && !one.data.entity.period ? "*" : month];
  const query = { instances, limit: 2000, as_of: asOf };
  const status = useAsk(
    "/api/v2/entities/{name}/status",
    { path: { name: entity }, query },
    { keep: true, enabled: known || one.error !== null },
  );
  const periods = useAsk(
    "/api/v2/entities/{name}/periods",
    { path: { name: entity }, query },
    { keep: true, enabled: known || one.error !== null },
  );
  const cells = useMemo(
    () => (status.data && periods.data ? cellsOf(periods.data.periods, status.data.stretches) : []),
    [status.data, periods.data],
  );
  const [first, setFirst] = useState<string | null>(null);
  const [last, setLast] = useState<string | null>(null);
  const [from, to] = first && last ? rangeOf(cells, first, last).split("..") : [first, first];
  const chosen = (instance: string) => from !== null && from <= instance && instance <= (to ?? from);
  const move = (by: number) => {
    setFirst(null);
    setLast(null);
    void navigate({ to: ".", search: (now) => ({ ...now, month: shifted(month, by) }) as never, replace: true });
  };
  const press = (instance: string, extend: boolean) => {
    if (first && (extend || (last === null && first !== instance))) setLast(instance);
    else {
      setFirst(first === instance && last === null ? null : instance);
      setLast(null);
    }
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };
    const step = steps[event.key];
    if (!step) return;
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-instance]")];
    const next = all[all.indexOf(document.activeElement as HTMLElement) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
  const states = [...new Set(cells.map((cell) => cell.state))];
  return (
    <Section
      title="Calendar"
      beside={
        one.data?.entity.period && (
          <span className="month">
            <button type="button" className="button quiet" aria-label="The month before" onClick={() => move(-1)}>
              ‹
            </button>
            <b className="mono">{month}</b>
            <button type="button" className="button quiet" aria-label="The month after" onClick={() => move(1)}>
              ›
            </button>
            <span className="soft">{one.data.entity.period}</span>
          </span>
        )
      }
    >
      <Answered of={status} lines={5}>
        {() =>
          cells.length === 0 && periods.data ? (
            <Empty title="No part falls into this month" command={`headwater report ${entity} produced INSTANCE`}>
              Parts are known from the schedule, or from what was reported.
            </Empty>
          ) : (
            <>
              <div className="calendar" role="grid" aria-label={`Parts of ${entity}`} onKeyDown={onKeyDown}>
                {rowsOf(cells).map((row) => (
                  <div className="calendar-row" role="row" key={row.label + row.cells[0].instance}>
                    {row.label && (
                      <span className="calendar-label mono" role="rowheader">
                        {row.label}
                      </span>
                    )}
                    {row.cells.map((cell, i) => (
                      <span role="gridcell" key={cell.instance} aria-selected={chosen(cell.instance)}>
                        <button
                          type="button"
                          data-instance={cell.instance}
                          tabIndex={cell === cells[0] || i === 0 ? 0 : -1}
                          className={`cell${chosen(cell.instance) ? " is-on" : ""}`}
                          aria-label={`${cell.instance}, ${lookOf(cell.state).word}`}
                          title={`${cell.instance}: ${lookOf(cell.state).word}`}
                          onClick={(event) => press(cell.instance, event.shiftKey)}
                        >
                          <StateMark state={cell.state} />
                        </button>
                      </span>
                    ))}
                  </div>
                ))}
              </div>
              <ul className="states" aria-label="States">
                {states.map((state) => (
                  <li key={state}>
                    <StateMark state={state} /> {lookOf(state).word} (
                    {cells.filter((cell) => cell.state === state).length})
                  </li>
                ))}
                <li className="soft">Click a part, then another, to choose a range.</li>
              </ul>
              {from && (
                <RangeActions
                  key={`${from} ${to}`}
                  entity={entity}
                  range={to && to !== from ? `${from}..${to}` : from}
                />
              )}
            </>
          )
        }
      </Answered>
    </Section>
  );
}
