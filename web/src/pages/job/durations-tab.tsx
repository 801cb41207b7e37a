// How long its runs took, and since when they take longer.
import { Suspense, lazy } from "react";
import { useAsk } from "../../api/queries.ts";
import { duration, exact, percent } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { RunLink } from "../../parts/node-link.tsx";
import { Facts, Section } from "../../parts/page.tsx";
import { Waiting } from "../../parts/waiting.tsx";
import { When } from "../../parts/when.tsx";
import type { JobTabProps } from "./job-page.tsx";

const LineOf = lazy(() => import("../../parts/charts.tsx").then((module) => ({ default: module.LineOf })));

export function DurationsTab({ reference }: JobTabProps) {
  const durations = useAsk("/api/v2/jobs/{namespace}/{name}/durations", { path: reference });
  return (
    <Answered of={durations}>
      {({ runs, percentiles, levels, slower }) =>
        runs.length === 0 ? (
          <Empty title="No run of it has completed yet" />
        ) : (
          <>
            {slower && (
              <p className="notice-line" role="status">
                Slower since <When at={slower.since} full />: {duration(slower.before_ms)} → {duration(slower.after_ms)}
                {slower.factor && `, × ${slower.factor.toFixed(1)}`}, {percent(slower.confidence)} sure; first in run{" "}
                <RunLink id={slower.first_run} />.
              </p>
            )}
            <Section title="Durations">
              <Suspense fallback={<Waiting lines={3} />}>
                <LineOf
                  label="Durations of its runs, seconds"
                  points={[...runs]
                    .sort((a, b) => (a.started_at < b.started_at ? -1 : 1))
                    .map((run) => ({ at: exact(run.started_at).slice(0, 16), value: run.duration_ms / 1000 }))}
                  unit="s"
                />
              </Suspense>
              {percentiles && (
                <Facts
                  facts={[
                    ["Half of them within", duration(percentiles.p50)],
                    ["Nine of ten within", duration(percentiles.p90)],
                    ["99 of 100 within", duration(percentiles.p99)],
                    ["Shortest", duration(percentiles.min)],
                    ["Longest", duration(percentiles.max)],
                  ]}
                />
              )}
            </Section>
            {levels.length > 1 && (
              <Section title="Levels">
                <ol className="timeline">
                  {levels.map((level) => (
                    <li key={level.since}>
                      <When at={level.since} full />
                      <span>
                        {duration(level.median_ms)} ± {duration(level.spread_ms)}, {level.runs} runs
                      </span>
                    </li>
                  ))}
                </ol>
              </Section>
            )}
          </>
        )
      }
    </Answered>
  );
}
