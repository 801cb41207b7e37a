// What people changed about it, and which facets events replaced.
import { useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Section } from "../../parts/page.tsx";
import { When } from "../../parts/when.tsx";
import { PeopleChanges } from "../changes/people-changes.tsx";
import type { TabProps } from "./tab-props.ts";

export function HistoryTab({ dataset, reference }: TabProps) {
  const facets = useAsk("/api/v2/datasets/{namespace}/{name}/facets", { path: reference });
  return (
    <>
      <Section title="Changed by people">
        <PeopleChanges target={dataset.id} />
      </Section>
      <Section title="Changed by events">
        <Answered of={facets}>
          {({ facets: all }) => (
            <ul className="list">
              {all.map((facet) => (
                <li key={facet.name}>
                  <span className="mono">{facet.name}</span>
                  <span className="soft">{plural(facet.bodies.length, "value")} since </span>
                  <When at={facet.bodies.at(-1)?.first_at} />
                  {facet.bodies[0]?.changes && facet.bodies[0].changes.length > 0 && (
                    <ul className="diff">
                      {facet.bodies[0].changes.slice(0, 8).map((change) => (
                        <li key={change.path} className={change.op === "removed" ? "gone" : change.op}>
                          {change.op} {change.path}
                        </li>
                      ))}
                    </ul>
                  )}
                </li>
              ))}
            </ul>
          )}
        </Answered>
      </Section>
    </>
  );
}
