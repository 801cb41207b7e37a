// Now: what is wrong, failed, doubted or late, the worst first; who fell silent; events with warnings; how much of the lineage is known.
import { Link } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { LATE, useAsk } from "../../api/queries.ts";
import { count, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { DayBars } from "../../parts/day-bars.tsx";
import { Command } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { lookOf, StateMark } from "../../parts/state.tsx";
import { When } from "../../parts/when.tsx";
import { IncidentLine } from "../incidents/incident-line.tsx";

type Overview = Answer<"/api/v2/overview">;

/** Of what a number is kept by day, in words. */
const CAME = {
  failed: "runs that failed or were aborted",
  doubted: "checks that failed",
  wrong: "incidents recorded",
  policy: "violations of policies found",
};

export function IncidentBand() {
  const overview = useAsk("/api/v2/overview", { query: { limit: 8 } }, { every: LATE });
  return (
    <Section title="Now" beside={<Link to="/incidents">All incidents</Link>}>
      <Answered of={overview}>
        {({ incidents, first, events, silent, more_silent, coverage, days }) => {
          const more = Object.values(incidents).reduce((sum, n) => sum + n, 0) - first.length;
          return (
            <>
              <ul className="lights">
                {Object.entries(incidents).map(([kind, n]) => (
                  <li key={kind}>
                    <Link to="/incidents" search={{ kind }} className={n ? "light" : "light is-quiet"}>
                      <StateMark state={n ? kind : "completed"} />
                      <b>{n}</b> {lookOf(kind).word}
                    </Link>
                    {kind in CAME && (
                      <DayBars what={CAME[kind as keyof typeof CAME]} days={days[kind as keyof typeof CAME]} />
                    )}
                  </li>
                ))}
                <Warned warnings={events.warnings} />
              </ul>
              {first.length === 0 ? (
                <p className="calm">
                  Nothing needs you now: no run failed or fell silent, nothing is late, doubted or wrong.
                </p>
              ) : (
                <ul className="incident-list">
                  {first.map((incident) => (
                    <IncidentLine key={`${incident.kind} ${incident.id}`} incident={incident} />
                  ))}
                </ul>
              )}
              {more > 0 && (
                <p className="soft">
                  {plural(more, "more", "more")}: <Link to="/incidents">see all</Link>
                </p>
              )}
              <Silent sources={silent} more={more_silent} />
              <Known coverage={coverage} />
            </>
          );
        }}
      </Answered>
    </Section>
  );
}

/** Warnings about events that arrived in the last seven days. */
function Warned({ warnings }: { warnings: Overview["events"]["warnings"] }) {
  const n = Object.values(warnings).reduce((sum, each) => sum + each, 0);
  const codes = Object.entries(warnings).map(([code, times]) => `${code}: ${times}`);
  return (
    <li>
      <Link
        to="/events/{-$tab}"
        params={{ tab: "producers" }}
        className={n ? "light" : "light is-quiet"}
        title={codes.join("\n") || undefined}
      >
        <StateMark state={n ? "late" : "completed"} />
        <b>{count(n)}</b> {n === 1 ? "warning" : "warnings"} about events
      </Link>
    </li>
  );
}

function Silent({ sources, more }: { sources: Overview["silent"]; more: number }) {
  if (sources.length === 0) return null;
  return (
    <>
      <h3>Fell silent</h3>
      <ul className="list" aria-label="Producers and syncs that fell silent">
        {sources.map((source) => (
          <li key={`${source.kind} ${source.id}`}>
            <span>
              <StateMark state="stalled" /> {source.text} {source.look && <Command text={source.look} />}
            </span>
            <small className="soft">
              <When at={source.since} />
            </small>
          </li>
        ))}
      </ul>
      {more > 0 && <p className="soft">and {plural(more, "more", "more")}</p>}
    </>
  );
}

function Known({ coverage }: { coverage: Overview["coverage"] }) {
  if (coverage.datasets === 0) return null;
  return (
    <p className="soft">
      Of {plural(coverage.datasets, "dataset")}, {count(coverage.written)} {coverage.written === 1 ? "is" : "are"}{" "}
      written by a job, {count(coverage.with_columns)} of these with known columns. {count(coverage.reporting)} of{" "}
      {plural(coverage.jobs, "job")} {coverage.reporting === 1 ? "reports" : "report"} inputs or outputs.
    </p>
  );
}
