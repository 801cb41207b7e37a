// What concerns the reader: open incidents of what they own, and of what is hit of theirs.
import { Link } from "@tanstack/react-router";
import { LATE, useAsk, useMe } from "../../api/queries.ts";
import { count, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Section } from "../../parts/page.tsx";
import { IncidentLine } from "../incidents/incident-line.tsx";

const SHOWN = 8;

export function Yours() {
  const me = useMe().data;
  return me && me.via !== "open" ? <Owned name={me.name} /> : null;
}

function Owned({ name }: { name: string }) {
  const datasets = useAsk("/api/v2/datasets", { query: { owner: name, limit: 0 } });
  const opened = useAsk("/api/v2/open-incidents", { query: { owner: name, limit: SHOWN } }, { every: LATE });
  const owned = datasets.data?.total ?? 0;
  // Who owns nothing, and is hit by nothing, has a page without this part.
  if (owned === 0 && !opened.data?.total) return null;
  return (
    <Section
      title="Yours"
      beside={
        <Link to="/catalogue/$kind" params={{ kind: "datasets" }} search={{ owner: name }}>
          {count(owned)} {owned === 1 ? "dataset" : "datasets"}
        </Link>
      }
    >
      <Answered of={opened}>
        {({ incidents, total }) =>
          incidents.length === 0 ? (
            <p className="calm">Nothing of yours failed, fell silent, is late, doubted or wrong.</p>
          ) : (
            <>
              <ul className="incident-list" aria-label="Incidents that concern you">
                {incidents.map((incident) => (
                  <IncidentLine key={`${incident.kind} ${incident.id}`} incident={incident} />
                ))}
              </ul>
              {total > incidents.length && (
                <p className="soft">and {plural(total - incidents.length, "more", "more")}</p>
              )}
            </>
          )
        }
      </Answered>
    </Section>
  );
}
