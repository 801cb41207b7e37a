// What needs me now, what changed since yesterday, and what I looked at.
import { useAsk, useMe } from "../../api/queries.ts";
import { bytes, count } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Page } from "../../parts/page.tsx";
import { When } from "../../parts/when.tsx";
import { FirstEvent } from "./first-event.tsx";
import { IncidentBand } from "./incident-band.tsx";
import { MyViews } from "./my-views.tsx";
import { Operation } from "./operation.tsx";
import { Recent } from "./recent.tsx";
import { Since } from "./since.tsx";
import { Tour } from "./tour.tsx";
import { Yours } from "./yours.tsx";

export function HomePage() {
  const status = useAsk("/api/v2/status");
  const role = useMe().data?.role;
  // A reader's own things come first; who operates sees what keeps the server from its work.
  const operates = role === "write" || role === "admin";
  const empty = status.data?.events.total === 0;
  return (
    <Page
      title="Home"
      lede="Find a dataset, a job or a column, and follow it to its source and to everyone who uses it. Press / to search."
    >
      <Answered of={status} lines={2}>
        {({ counts, events, database }) => (
          <dl className="counts">
            <Count label="datasets" value={count(counts.datasets)} />
            <Count label="jobs" value={count(counts.jobs)} />
            <Count label="runs" value={count(counts.runs)} />
            <Count label="events" value={count(events.total)} />
            <Count label="last event" value={<When at={events.last_received_at} />} quiet />
            <Count label="database" value={database.ok ? bytes(database.size_bytes) : "not available"} quiet />
          </dl>
        )}
      </Answered>
      {empty ? (
        <FirstEvent />
      ) : (
        <>
          <Tour />
          {operates ? <Operation /> : <Yours />}
          <IncidentBand />
          {operates && <Yours />}
          <Since />
          <MyViews />
          <Recent />
        </>
      )}
    </Page>
  );
}

function Count({ label, value, quiet }: { label: string; value: React.ReactNode; quiet?: boolean }) {
  return (
    <div className={quiet ? "quiet" : undefined}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}
