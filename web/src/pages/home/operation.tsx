// What keeps the server from its work, for those who operate it: sources that cannot be read, messages that do not arrive. Nothing: no part.
import { Link } from "@tanstack/react-router";
import { LATE, useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Section } from "../../parts/page.tsx";
import { StateMark } from "../../parts/state.tsx";
import { When } from "../../parts/when.tsx";

export function Operation() {
  const sources = useAsk("/api/v2/connectors", {}, { every: LATE });
  const alerts = useAsk("/api/v2/alerts", { query: { limit: 0 } }, { every: LATE });
  const failing = sources.data?.connectors.filter((one) => one.failing_since !== null) ?? [];
  const waiting = alerts.data?.failing ?? 0;
  if (failing.length === 0 && waiting === 0) return null;
  return (
    <Section title="Operation">
      <ul className="list" aria-label="What keeps the server from its work">
        {failing.map((one) => (
          <li key={one.name}>
            <span>
              <StateMark state="failed" />{" "}
              <Link to="/catalogue/$kind" params={{ kind: "sources" }}>
                {one.name}
              </Link>{" "}
              {one.last_error}
            </span>
            <small className="soft">
              <When at={one.failing_since} />
            </small>
          </li>
        ))}
        {waiting > 0 && (
          <li>
            <span>
              <StateMark state="late" />{" "}
              <Link to="/alerting/{-$tab}" params={{ tab: "channels" }}>
                {plural(waiting, "message")}
              </Link>{" "}
              of alerts could not be sent yet
            </span>
          </li>
        )}
      </ul>
    </Section>
  );
}
