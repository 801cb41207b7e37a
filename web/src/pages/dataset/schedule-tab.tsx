// The schedules whose parts it holds, each as a calendar; else how to declare one, from what its runs show.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { Calendar } from "../entity/calendar.tsx";
import type { TabProps } from "./tab-props.ts";

/** How it is known that a dataset holds the parts of a schedule. */
const BASIS: Record<string, string> = {
  declared: "the declaration says where it is stored",
  package: "the package that writes it names it",
  lineage: "the job that makes it writes nothing else here",
};

export function ScheduleTab({ dataset }: TabProps) {
  const { schedules } = dataset;
  if (schedules.length === 0) return <NoSchedule dataset={dataset} />;
  return (
    <>
      <ul className="list">
        {schedules.map(({ entity, basis, period, latest }) => (
          <li key={entity}>
            <Link className="mono" to="/schedules/$entity" params={{ entity }}>
              {entity}
            </Link>
            <small className="soft">
              {period ?? "made as a whole"}; latest {latest ?? "none"}; held here because {BASIS[basis] ?? basis}
            </small>
          </li>
        ))}
      </ul>
      {schedules.length === 1 && <Calendar entity={schedules[0].entity} />}
    </>
  );
}

function NoSchedule({ dataset }: Pick<TabProps, "dataset">) {
  const drafts = useAsk("/api/v2/entity-drafts", { query: { node: dataset.id, depth: 0 } });
  return (
    <Section title="No schedule">
      <p>
        A schedule says for which hours or days it is made, and from what. Its parts then have a state each: valid,
        estimated, wrong, missing, late.
      </p>
      <Answered of={drafts} lines={3}>
        {({ drafts: found, skipped }) => {
          const draft = found.find((one) => one.dataset === dataset.id);
          const left = skipped.find((one) => one.dataset === dataset.id);
          if (!draft) return left ? <p className="soft">No draft: {left.why}.</p> : null;
          return (
            <>
              <p>
                Its runs suggest this one ({draft.confidence} confidence: {draft.evidence}):
              </p>
              <pre className="code" tabIndex={0}>
                {draft.yaml}
              </pre>
            </>
          );
        }}
      </Answered>
      <Command text="headwater entities apply entities.yaml" />
    </Section>
  );
}
