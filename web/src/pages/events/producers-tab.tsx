import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { count, duration, percent, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import type { EventsTabProps } from "./events-page.tsx";

export function ProducersTab({ search }: EventsTabProps) {
  const list = useAsk("/api/v2/producers", { query: { since: search.since } });
  return (
    <Answered of={list} lines={6}>
      {({ producers, since }) => (
        <>
          <p className="soft">
            Since <When at={since} full />.
          </p>
          <Table
            label="Producers"
            rows={producers}
            keyOf={(one) => one.producer}
            columns={[
              {
                id: "producer",
                header: "Producer",
                wide: true,
                value: (one) => one.producer,
                cell: (one) => (
                  <Link
                    className="name"
                    to="/events/{-$tab}"
                    params={{ tab: undefined }}
                    search={{ producer: one.producer }}
                    title={one.producer}
                  >
                    {one.producer}
                  </Link>
                ),
              },
              {
                id: "events",
                header: "Events",
                number: true,
                value: (one) => one.events,
                cell: (one) => count(one.events),
              },
              { id: "last", header: "Last", value: (one) => one.last_seen, cell: (one) => <When at={one.last_seen} /> },
              {
                id: "delay",
                header: "Half arrive within",
                number: true,
                value: (one) => one.delay.p50,
                cell: (one) => duration(Math.max(one.delay.p50, 0) * 1000),
              },
              {
                id: "p99",
                header: "99 of 100",
                number: true,
                minor: true,
                value: (one) => one.delay.p99,
                cell: (one) => duration(Math.max(one.delay.p99, 0) * 1000),
              },
              {
                id: "warned",
                header: "With warnings",
                number: true,
                value: (one) => one.warned,
                cell: (one) => percent(one.warned),
              },
              {
                id: "warnings",
                header: "Which",
                minor: true,
                value: (one) => one.warnings.map((warning) => warning.code).join(" "),
                cell: (one) => (
                  <ul className="plain-list">
                    {one.warnings.map((warning) => (
                      <li key={warning.code}>
                        <Link
                          to="/events/{-$tab}"
                          params={{ tab: undefined }}
                          search={{ producer: one.producer, code: warning.code }}
                          title={warning.example}
                        >
                          {warning.code.replaceAll("_", " ")}
                        </Link>{" "}
                        {count(warning.count)}
                      </li>
                    ))}
                  </ul>
                ),
              },
              {
                id: "open",
                header: "Never ended",
                number: true,
                minor: true,
                value: (one) => one.never_ended.length,
                cell: (one) =>
                  one.never_ended.length
                    ? plural(
                        one.never_ended.reduce((sum, job) => sum + job.runs, 0),
                        "run",
                      )
                    : "–",
              },
            ]}
            empty={<Empty title="No program sent an event in this time" command="headwater doctor" />}
          />
        </>
      )}
    </Answered>
  );
}
