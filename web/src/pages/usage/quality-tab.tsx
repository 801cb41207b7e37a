import { lazy, Suspense } from "react";
import { useAsk } from "../../api/queries.ts";
import { count, percent } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { Waiting } from "../../parts/waiting.tsx";
import { NotMeasured } from "./not-measured.tsx";
import type { UsageTabProps } from "./usage-page.tsx";

const LineOf = lazy(() => import("../../parts/charts.tsx").then((module) => ({ default: module.LineOf })));

export function QualityTab({ search }: UsageTabProps) {
  const list = useAsk("/api/v2/quality", { query: { namespace: search.namespace, limit: 1000 } });
  return (
    <Answered of={list} lines={8}>
      {({ sources, days, dropped }) =>
        sources.length === 0 ? (
          <NotMeasured />
        ) : (
          <>
            {dropped > 0 && (
              <p className="notice-line">The share that is understood dropped for {count(dropped)} of the sources.</p>
            )}
            {sources.slice(0, 4).map((source) => (
              <Section
                key={`${source.namespace} ${source.dialect}`}
                title={`${source.namespace}, ${source.dialect}`}
                beside="executions understood in full"
              >
                <Suspense fallback={<Waiting lines={3} />}>
                  <LineOf
                    label={`Share understood, ${source.namespace}`}
                    unit=" %"
                    points={days
                      .filter((day) => day.namespace === source.namespace && day.dialect === source.dialect)
                      .map((day) => ({
                        at: day.day,
                        value:
                          day.coverage_executions === null ? null : Math.round(day.coverage_executions * 1000) / 10,
                      }))
                      .reverse()}
                  />
                </Suspense>
              </Section>
            ))}
            <Table
              label="Sources"
              rows={sources}
              keyOf={(source) => `${source.namespace} ${source.dialect}`}
              columns={[
                {
                  id: "namespace",
                  header: "Namespace",
                  wide: true,
                  value: (source) => source.namespace,
                  cell: (source) => <span className="mono">{source.namespace}</span>,
                },
                {
                  id: "dialect",
                  header: "Dialect",
                  value: (source) => source.dialect,
                  cell: (source) => source.dialect,
                },
                {
                  id: "last",
                  header: "Last day",
                  number: true,
                  value: (source) => source.coverage_last,
                  cell: (source) => percent(source.coverage_last),
                },
                {
                  id: "before",
                  header: "Before",
                  number: true,
                  value: (source) => source.coverage_before,
                  cell: (source) => percent(source.coverage_before),
                },
                {
                  id: "dropped",
                  header: "State",
                  value: (source) => String(source.dropped),
                  cell: (source) => (
                    <State
                      state={source.dropped ? "failing" : "passing"}
                      word={source.dropped ? "dropped" : "steady"}
                    />
                  ),
                },
              ]}
              empty={null}
            />
          </>
        )
      }
    </Answered>
  );
}
