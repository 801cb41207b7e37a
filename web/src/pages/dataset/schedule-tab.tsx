// The schedule it belongs to, if its parts are made by time; else how to declare one, from what its runs show.
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { Calendar } from "../entity/calendar.tsx";
import type { TabProps } from "./tab-props.ts";

export function ScheduleTab({ dataset }: TabProps) {
  const found = useAsk("/api/v2/entities", { query: { text: dataset.label, limit: 50 } });
  const drafts = useAsk("/api/v2/entity-drafts", { query: { node: dataset.id, depth: 0 } });
  return (
    <Answered of={found}>
      {({ entities }) => {
        const own = entities.find((one) => one.entity === dataset.label);
        if (own) return <Calendar entity={own.entity} />;
        const draft = drafts.data?.drafts.find((one) => one.dataset === dataset.id);
        const skipped = drafts.data?.skipped.find((one) => one.dataset === dataset.id);
        return (
          <Section title="No schedule">
            <p>
              A schedule says for which hours or days it is made, and from what. Its parts then have a state each:
              valid, estimated, wrong, missing, late.
            </p>
            {draft ? (
              <>
                <p>
                  Its runs suggest this one ({draft.confidence} confidence: {draft.evidence}):
                </p>
                <pre className="code" tabIndex={0}>
                  {draft.yaml}
                </pre>
              </>
            ) : (
              skipped && <p className="soft">No draft: {skipped.why}.</p>
            )}
            <Command text="headwater entities apply entities.yaml" />
          </Section>
        );
      }}
    </Answered>
  );
}
