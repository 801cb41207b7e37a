import { useAsk } from "../../api/queries.ts";
import { bytes, count, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command } from "../../parts/message.tsx";
import { Facts, Section } from "../../parts/page.tsx";
import { When } from "../../parts/when.tsx";

export function ServerTab() {
  const status = useAsk("/api/v2/status");
  return (
    <>
      <Section title="This server">
        <Answered of={status}>
          {(one) => (
            <Facts
              facts={[
                ["Version", one.version],
                ["Started", <When key="s" at={one.started_at} />],
                ["PostgreSQL", one.database.ok ? one.database.version : "not available"],
                ["Size of the database", bytes(one.database.size_bytes)],
                ["Events", count(one.events.total)],
              ]}
            />
          )}
        </Answered>
      </Section>
      <Section title="How long records are kept">
        <Answered of={status}>
          {({ retention }) => (
            <>
              <Facts
                facts={[
                  ["Events", kept(retention.events, "Whole months of the log that are older are dropped.")],
                  ["Runs", kept(retention.runs, "The last run of each job stays.")],
                  ["Warnings about events", kept(retention.warnings)],
                  ["Audit", kept(retention.audit)],
                ]}
              />
              <p className="soft">
                It is set where the server starts, by HEADWATER_RETENTION__EVENTS_DAYS and the like. What a shorter time
                would delete:
              </p>
              <Command text="headwater server retention run --dry-run" />
            </>
          )}
        </Answered>
      </Section>
    </>
  );
}

const kept = (days: number | null, note?: string) =>
  days === null ? "for ever" : `${plural(days, "day")}.${note ? ` ${note}` : ""}`;
