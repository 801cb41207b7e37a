import { useAsk } from "../../api/queries.ts";
import { bytes, count } from "../../format.ts";
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
        <p>Retention is set where the server starts, and shown by this command.</p>
        <Command text="headwater retention --help" />
      </Section>
    </>
  );
}
