// Now: what failed, is late or wrong, each counted, with the worst of each and the owner.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Section } from "../../parts/page.tsx";
import { lookOf, StateMark } from "../../parts/state.tsx";
import { IncidentLine } from "../incidents/incident-line.tsx";

export function IncidentBand() {
  const incidents = useAsk("/api/v2/open-incidents", { query: { limit: 8 } }, { every: 60_000 });
  const warned = useAsk("/api/v2/producers");
  return (
    <Section title="Now" beside={<Link to="/incidents">All incidents</Link>}>
      <Answered of={incidents}>
        {({ total, counts, incidents: rows }) => (
          <>
            <ul className="lights">
              {Object.entries(counts).map(([kind, n]) => (
                <li key={kind}>
                  <Link to="/incidents" search={{ kind }} className={n ? "light" : "light is-quiet"}>
                    <StateMark state={n ? kind : "completed"} />
                    <b>{n}</b> {lookOf(kind).word}
                  </Link>
                </li>
              ))}
              <Unread producers={warned.data?.producers} />
            </ul>
            {rows.length === 0 ? (
              <p className="calm">Nothing needs you now: no run failed, nothing is late, nothing is wrong.</p>
            ) : (
              <ul className="incident-list">
                {rows.map((incident) => (
                  <IncidentLine key={`${incident.kind} ${incident.id}`} incident={incident} />
                ))}
              </ul>
            )}
            {total > rows.length && (
              <p className="soft">
                {plural(total - rows.length, "more", "more")}: <Link to="/incidents">see all</Link>
              </p>
            )}
          </>
        )}
      </Answered>
    </Section>
  );
}

/** Events that came with a warning, in the last seven days. */
function Unread({ producers }: { producers?: readonly { events: number; warned: number }[] }) {
  if (!producers) return null;
  const n = producers.reduce((sum, one) => sum + Math.round(one.events * one.warned), 0);
  return (
    <li>
      <Link to="/events/{-$tab}" params={{ tab: "producers" }} className={n ? "light" : "light is-quiet"}>
        <StateMark state={n ? "late" : "completed"} />
        <b>{n}</b> events with warnings
      </Link>
    </li>
  );
}
