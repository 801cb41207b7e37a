// Is it there, on time and right: freshness, checks, and what is open about it.
import { useAsk } from "../../api/queries.ts";
import { duration, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command, Empty } from "../../parts/message.tsx";
import { RunLink } from "../../parts/node-link.tsx";
import { Facts, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { IncidentLine } from "../incidents/incident-line.tsx";
import type { TabProps } from "./tab-props.ts";

export function IncidentsTab({ dataset, reference, asOf }: TabProps) {
  const health = useAsk("/api/v2/datasets/{namespace}/{name}/freshness", { path: reference, query: { as_of: asOf } });
  const incidents = useAsk("/api/v2/open-incidents", { query: { limit: 1000 } });
  const about = incidents.data?.incidents.filter(
    (one) =>
      one.id === dataset.id || one.hit.some((hit) => hit.id === dataset.id) || dataset.producers.includes(one.id),
  );
  return (
    <>
      <Section title="Open incidents">
        {about && about.length > 0 ? (
          <ul className="incident-list">
            {about.map((one) => (
              <IncidentLine key={`${one.kind} ${one.id}`} incident={one} full />
            ))}
          </ul>
        ) : (
          <p className="calm">{about ? "No open incident is about it." : "…"}</p>
        )}
      </Section>
      <Answered of={health}>
        {(one) => (
          <>
            <Section title="Freshness">
              <Facts
                facts={[
                  ["State", <State key="s" state={one.state} />],
                  [
                    "Learned rhythm",
                    one.cadence.name ??
                      (one.cadence.gap_seconds ? `every ${duration(one.cadence.gap_seconds * 1000)}` : "none yet"),
                  ],
                  ["Updates known", one.cadence.updates],
                  ["Last update", <When key="l" at={one.last_update} full />],
                  ["By run", one.last_run && <RunLink key="r" id={one.last_run.run_id} />],
                  ["Expected next", one.expected_next && <When key="e" at={one.expected_next} full />],
                  ["Late by", one.late_seconds ? duration(one.late_seconds * 1000) : null],
                  ["Missed updates", one.missed || null],
                  ["Failures since", one.failures_since || null],
                  ["Available", one.available === false && "no: it was dropped"],
                ]}
              />
            </Section>
            <Section title="Checks" beside={plural(one.quality.passed + one.quality.failed, "check")}>
              <Table
                label="Checks"
                rows={one.quality.assertions}
                keyOf={(check) => `${check.assertion} ${check.column}`}
                columns={[
                  {
                    id: "check",
                    header: "Check",
                    wide: true,
                    value: (check) => check.assertion,
                    cell: (check) => check.assertion,
                  },
                  {
                    id: "column",
                    header: "Column",
                    value: (check) => check.column,
                    cell: (check) => <span className="mono">{check.column ?? "–"}</span>,
                  },
                  {
                    id: "result",
                    header: "Result",
                    value: (check) => String(check.success),
                    cell: (check) => <State state={check.success ? "passing" : "failing"} />,
                  },
                  { id: "at", header: "Checked", value: (check) => check.at, cell: (check) => <When at={check.at} /> },
                  {
                    id: "run",
                    header: "Run",
                    value: (check) => check.run.run_id,
                    cell: (check) => <RunLink id={check.run.run_id} />,
                  },
                ]}
                empty={
                  <Empty title="No check was reported">
                    Checks come with events, in the facet dataQualityAssertions: dbt tests, Great Expectations, Soda.
                  </Empty>
                }
              />
            </Section>
          </>
        )}
      </Answered>
      <Section title="Say that it is wrong">
        <p>This shows who is hit, before anything is written.</p>
        <Command text={`headwater taint '${dataset.name}' --dry-run`} />
      </Section>
    </>
  );
}
