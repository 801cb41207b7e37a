// One incident: its cause, the way from there to everything it hits, who is to be told, what ends it, and what happened when.
import { getRouteApi } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { LATE, useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { When } from "../../parts/when.tsx";
import { HitTable } from "./hit-table.tsx";
import { Caused } from "./incident-line.tsx";
import { Why } from "../job/why.tsx";
import { Repair } from "./repair.tsx";
import { SharedWithOthers } from "./shared-traits.tsx";
import { Timeline } from "./timeline.tsx";
import { Verdict } from "./verdict.tsx";
import { WayGraph } from "./way-graph.tsx";

export type Detail = Answer<"/api/v2/open-incident">;

const route = getRouteApi("/incidents/$id");
const isVerdict = (id: string) => /^[0-9a-f-]{36}$/i.test(id);

export function IncidentPage() {
  const { id } = route.useParams();
  return isVerdict(id) ? <VerdictPage id={id} /> : <OpenPage id={id} />;
}

/** A job that fails or fell silent, a dataset that is late or doubted: open as long as the server finds it so. */
function OpenPage({ id }: { id: string }) {
  const detail = useAsk("/api/v2/open-incident", { query: { id } });
  const over = detail.error && "status" in detail.error && detail.error.status === 404;
  if (over)
    return (
      <Page title="Incident">
        <Empty title="This incident is over">
          A later good run or a verdict ended it, or it never was. See <NodeLink id={id} /> as it is now.
        </Empty>
      </Page>
    );
  const incident = detail.data?.incident;
  return (
    <Page
      title={incident?.label ?? "Incident"}
      mark={incident && <State state={incident.kind} />}
      beside={<Copy text={id} what="the id" />}
      lede={incident?.text}
    >
      <Answered of={detail} lines={8}>
        {(answer) => (
          <>
            <Reach detail={answer} />
            <WhyItHappens incident={answer.incident} />
            <Section title="Repair">
              <Repair incident={answer.incident} />
            </Section>
            <Section title="Timeline" beside={answer.earlier_runs > 0 && `${answer.earlier_runs} earlier runs`}>
              <Timeline entries={answer.timeline} />
            </Section>
          </>
        )}
      </Answered>
    </Page>
  );
}

/** What changed with the failures, and who else has it. A dataset that is late because a run failed asks about that run. */
function WhyItHappens({ incident }: { incident: Detail["incident"] }) {
  const { kind, id, cause, since } = incident;
  const job = kind === "failed" && id.startsWith("job:") ? id : null;
  const run = kind === "late" && cause.kind === "run" ? cause.id : null;
  if (job === null && run === null) return null;
  return (
    <>
      <Section title="Why it fails">{job !== null ? <Why job={job} short /> : <Why run={run!} short />}</Section>
      {job !== null && <SharedWithOthers job={job} since={since} />}
    </>
  );
}

/** Something that was marked wrong: it stays, also when it is mended or retracted. */
function VerdictPage({ id }: { id: string }) {
  const one = useAsk("/api/v2/incidents/{incident}", { path: { incident: id } });
  const isOpen = one.data !== undefined && one.data.incident.state !== "retracted" && !one.data.incident.mended;
  const detail = useAsk("/api/v2/open-incident", { query: { id } }, { enabled: isOpen, every: LATE });
  const known = one.data?.incident;
  return (
    <Page
      title={known?.reason || "Incident"}
      mark={
        known && (
          <State
            state={known.state === "retracted" ? "retracted" : known.mended ? "fixed" : "wrong"}
            word={known.mended && known.state !== "retracted" ? "mended" : undefined}
          />
        )
      }
      beside={<Copy text={id} what="the incident's id" />}
    >
      <Answered of={one} lines={8}>
        {(answer) => (
          <>
            {isOpen && (
              <Answered of={detail} lines={5}>
                {(found) => <Reach detail={found} />}
              </Answered>
            )}
            <Verdict answer={answer} />
            {isOpen && detail.data && (
              <Section title="Timeline">
                <Timeline entries={detail.data.timeline} />
              </Section>
            )}
          </>
        )}
      </Answered>
    </Page>
  );
}

/** From the cause to everyone it hits: drawn, and as a table. */
function Reach({ detail }: { detail: Detail }) {
  const { incident, teams } = detail;
  return (
    <>
      <Facts
        facts={[
          [
            "First cause",
            incident.cause.id === incident.id ? (
              <NodeLink key="c" id={incident.id} label={incident.label} />
            ) : (
              <Caused key="c" incident={incident} bare />
            ),
          ],
          ["Since", incident.since && <When key="s" at={incident.since} full />],
          ["Owner of the cause", incident.owners.join(", ") || "no owner is named"],
          ["Teams to tell", teams.length > 0 && teams.join(", ")],
        ]}
      />
      <Section
        title="From the cause to what it hits"
        beside={incident.hit.length > 0 && plural(incident.hit.length, "more is hit", "more are hit")}
      >
        {detail.nodes.length > 1 && <WayGraph detail={detail} />}
        {incident.hit.length > 0 ? <HitTable detail={detail} /> : <p className="soft">Nothing else is hit.</p>}
      </Section>
    </>
  );
}
