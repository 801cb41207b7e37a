// The parts of a dataset over a day, month, year or ten years, each a cell; a range of them can be marked wrong, explained, or planned anew.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { lookOf, StateMark } from "../../parts/state.tsx";
import { CalendarGrid } from "./calendar-grid.tsx";
import { cellsOf, countStates, gridOf, within } from "./cells.ts";
import { RangeActions } from "./range-actions.tsx";
import { around, dateIn, dateOf, moved, SPAN_WORDS, SPANS, spanOf, spansOf } from "./spans.ts";

/** The server lists no more instances in one answer: a year of hours, a week of minutes. */
const MOST = 10_000;

export function Calendar({ entity }: { entity: string }) {
  const search = useSearch({ strict: false });
  const navigate = useNavigate();
  const { asOf, instances: chosen } = search;
  const one = useAsk("/api/v2/entities/{name}", { path: { name: entity }, query: { as_of: asOf } });
  const view = one.data?.entity;
  const spans = view?.period ? spansOf(view.period) : [];
  const latest = view?.latest ? dateOf(view.latest, null) : null;
  const newest = latest ?? (asOf ?? new Date().toISOString()).slice(0, 10);
  const asked = spanOf(search.at) ? search.at : undefined;
  const at = asked ?? around(spans[0] ?? "month", newest);
  const span = spanOf(at) ?? "month";
  const query = { instances: [view && !view.period ? "*" : at], limit: MOST, as_of: asOf };
  const ready = { keep: true, enabled: view !== undefined || one.error !== null };
  const status = useAsk("/api/v2/entities/{name}/status", { path: { name: entity }, query }, ready);
  const periods = useAsk("/api/v2/entities/{name}/periods", { path: { name: entity }, query }, ready);
  const cells = useMemo(
    () => (status.data && periods.data ? cellsOf(periods.data.periods, status.data.stretches) : []),
    [status.data, periods.data],
  );
  const grid = useMemo(() => gridOf(cells, span), [cells, span]);
  const marked = useMemo(() => within(cells, chosen), [cells, chosen]);
  const go = (change: { at?: string; instances?: string }, replace = true) =>
    void navigate({ to: ".", search: (now) => ({ ...now, ...change }) as never, replace });
  const look = (next: string) => go({ at: next, instances: undefined }, false);
  return (
    <Section
      title="Calendar"
      beside={
        view?.period && (
          <span className="month">
            <button type="button" className="button quiet" aria-label="Earlier" onClick={() => look(moved(at, -1))}>
              ‹
            </button>
            <b className="mono">{at.replace("..", " – ")}</b>
            <button type="button" className="button quiet" aria-label="Later" onClick={() => look(moved(at, 1))}>
              ›
            </button>
            <span className="choices" role="group" aria-label="Show">
              {SPANS.filter((each) => spans.includes(each)).map((each) => (
                <button
                  key={each}
                  type="button"
                  className="choice"
                  aria-pressed={each === span}
                  onClick={() => look(around(each, search.at ? dateIn(at) : newest))}
                >
                  {SPAN_WORDS[each]}
                </button>
              ))}
            </span>
            <span className="soft">period: {view.period}</span>
          </span>
        )
      }
    >
      {/* Both answers make the cells: none is drawn of one alone. */}
      <Answered<unknown> of={periods.data ? status : periods} lines={5}>
        {() =>
          cells.length === 0 ? (
            <Empty title="No part falls into this time" command={`headwater report ${entity} produced INSTANCE`}>
              Parts are known from the schedule, or from what was reported.
              {latest && (
                <>
                  {" "}
                  <button type="button" className="plain" onClick={() => look(around(span, latest))}>
                    Show the latest, {view?.latest}.
                  </button>
                </>
              )}
            </Empty>
          ) : (
            <>
              <ul className="states" aria-label="States">
                {countStates(cells).map(([state, count]) => (
                  <li key={state}>
                    <StateMark state={state} /> <b>{count.toLocaleString("en")}</b> {lookOf(state).word}
                  </li>
                ))}
              </ul>
              {periods.data !== undefined && periods.data.more > 0 && (
                <p className="notice-line">
                  The first {MOST.toLocaleString("en")} parts are shown; {periods.data.more.toLocaleString("en")} more
                  fall into this time.
                </p>
              )}
              <CalendarGrid
                label={`Parts of ${entity}`}
                grid={grid}
                cells={cells}
                chosen={marked}
                onChoose={(instances) => go({ instances })}
                closer={spans}
                onCloser={look}
              />
              <p className="soft">Click a part, then another, or drag, to choose a range.</p>
              {chosen && marked.size > 0 && <RangeActions key={chosen} entity={entity} range={chosen} />}
            </>
          )
        }
      </Answered>
    </Section>
  );
}
