// What the jobs that fail have in common and others do not: an engine, a cluster, a table, an owner.
import { Link } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { percent, plural } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { When } from "../../parts/when.tsx";

type Failing = Answer<"/api/v2/why/failing">;
type Finding = Failing["findings"][number];

const LISTED = 5;
const FEWEST_BAD = 3;
const DAY = 24 * 60 * 60_000;

/** The server looks at the last day, unless what is asked about began before. */
const sinceOf = (at: string | null) => (at && Date.now() - Date.parse(at) > DAY ? at : undefined);

/** Of all jobs that fail; nothing is shown where fewer than two do. */
export function FailingTogether() {
  const failing = useAsk("/api/v2/why/failing");
  return (
    <Section title="What the failing jobs share">
      <Answered of={failing} lines={3}>
        {(found) => (
          <>
            <p className="soft">
              {plural(found.bad, "job")} failed since <When at={found.since} full />, {found.good} ended well then or in
              the week before
              {found.examined_bad + found.examined_good < found.bad + found.good &&
                `; ${found.examined_bad} and ${found.examined_good} of them, drawn by chance, were compared`}
              .
            </p>
            {found.findings.length === 0 && (
              <p>
                {found.bad < FEWEST_BAD
                  ? `Too few to say what they share: it takes ${FEWEST_BAD} jobs that failed.`
                  : "Nothing stands out: what the failed runs share, good runs have as well."}
              </p>
            )}
            <Findings findings={found.findings} />
            {found.findings.length > 0 && found.unexplained > 0 && (
              <p className="soft">
                {plural(found.unexplained, "failed job shares", "failed jobs share")} nothing that stands out.
              </p>
            )}
          </>
        )}
      </Answered>
    </Section>
  );
}

/** Of one job that fails: what it shares with the others that do. Nothing where that is nothing. */
export function SharedWithOthers({ job, since }: { job: string; since: string | null }) {
  const failing = useAsk("/api/v2/why/failing", { query: { since: sinceOf(since) } });
  const findings = failing.data?.findings.filter((one) => one.jobs.includes(job) && one.bad_with > 1) ?? [];
  if (findings.length === 0) return null;
  return (
    <Section title="Other jobs fail too">
      <Findings findings={findings} />
      <p className="soft">
        <Link to="/incidents" search={{ kind: "failed" }}>
          All that fail
        </Link>
      </p>
    </Section>
  );
}

function Findings({ findings }: { findings: readonly Finding[] }) {
  return findings.map((one) => {
    const names = distinguish(one.jobs.map((id) => ({ id })));
    return (
      <article className="suspect" key={one.traits.map(titleOf).join("\n")}>
        {one.traits.map((trait) => (
          <h3 key={titleOf(trait)}>{titleOf(trait)}</h3>
        ))}
        <p>
          {one.bad_with} of {plural(one.bad_with + one.bad_without, "failing job")} ran with it, and {one.good_with} of{" "}
          {plural(one.good_with + one.good_without, "good run")};{" "}
          {one.lift === null ? "no run without it failed" : `with it jobs fail ${one.lift} times as often`}
          <span className="soft"> (by chance: {one.chance < 0.001 ? "under 0.1 %" : percent(one.chance)})</span>.
        </p>
        <p className="node-row">
          {one.jobs.slice(0, LISTED).map((id) => (
            <NodeLink key={id} id={id} label={names.get(id)} />
          ))}
          {one.bad_with > LISTED && <span className="soft">and {one.bad_with - LISTED} more</span>}
        </p>
      </article>
    );
  });
}

const titleOf = ({ kind, name, value }: Finding["traits"][number]) =>
  `${kind} ${name.replace(/^(dataset|job):/, "")} ${value}`.replace(/\s+/g, " ").trim();
