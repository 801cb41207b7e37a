// What moved lately: datasets that were written, jobs that ran. A package stands for its steps.
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { remember, useAsk } from "../../api/queries.ts";
import { duration } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
import { When } from "../../parts/when.tsx";
import { lookedAt } from "./looked-at.ts";

const SHOWN = 10;

export function Recent() {
  const datasets = useAsk("/api/v2/datasets", { query: { limit: SHOWN } });
  const runs = useAsk("/api/v2/runs", { query: { limit: 60 } });
  useEffect(() => {
    if (datasets.data) remember(datasets.data.datasets);
  }, [datasets.data]);
  const mine = lookedAt();
  return (
    <div className="lists">
      <Section
        title="Updated lately"
        beside={
          <Link to="/catalogue/$kind" params={{ kind: "datasets" }}>
            All
          </Link>
        }
      >
        <Answered of={datasets}>
          {({ datasets: rows }) => {
            const names = distinguish(rows);
            return (
              <ul className="list" aria-label="Datasets updated lately">
                {rows.map((row) => (
                  <li key={row.id}>
                    <NodeLink id={row.id} label={names.get(row.id)} />
                    <When at={"updated_at" in row ? row.updated_at : null} />
                  </li>
                ))}
              </ul>
            );
          }}
        </Answered>
      </Section>
      <Section
        title="Run lately"
        beside={
          <Link to="/catalogue/$kind" params={{ kind: "runs" }}>
            All
          </Link>
        }
      >
        <Answered of={runs}>
          {({ runs: all }) => {
            // A step that is part of a package's run shows with its package, not beside it.
            const rows = all.filter((run) => !run.parent).slice(0, SHOWN);
            const names = distinguish(rows.map((run) => ({ id: run.job })));
            return (
              <ul className="list" aria-label="Jobs run lately">
                {rows.map((run) => (
                  <li key={run.id}>
                    <span className="node-link">
                      <NodeLink id={run.job} label={names.get(run.job)} />
                      <State state={runState(run)} />
                    </span>
                    <small className="soft">
                      <RunLink id={run.id}>
                        <When at={run.started_at} />
                      </RunLink>
                      , {duration(run.duration_ms)}
                    </small>
                  </li>
                ))}
              </ul>
            );
          }}
        </Answered>
      </Section>
      {mine.length > 0 && (
        <Section title="You looked at">
          <ul className="list" aria-label="You looked at">
            {mine.map((id) => (
              <li key={id}>
                <NodeLink id={id} />
              </li>
            ))}
          </ul>
        </Section>
      )}
    </div>
  );
}
