// Why a job fails or became slower: what changed with it, the likeliest first; what was checked and is equal.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { percent, plural } from "../../format.ts";
import { bareName } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { RunLink } from "../../parts/node-link.tsx";
import { Facts, Section } from "../../parts/page.tsx";
import { When } from "../../parts/when.tsx";

interface Change {
  kind: string;
  name: string;
  before: string | null;
  after: string | null;
  changes: string[];
}

interface Cause extends Change {
  run_id: string;
  started_at: string;
  bad_with: number;
  good_with: number;
  bad_without: number;
  good_without: number;
  harmless: number;
}

/** Either the job or one failed run of it is asked about. `short`: the likeliest cause, and the way to the rest. */
export function Why({ job, run, short = false }: { job?: string; run?: string; short?: boolean }) {
  const why = useAsk("/api/v2/why", { query: run ? { run } : { job } });
  return (
    <Answered of={why} lines={6}>
      {(found) => {
        if (found.question === "nothing") return <Empty title="Nothing to explain">{found.notes.join("; ")}</Empty>;
        const [first, ...others] = found.suspects;
        if (short)
          return (
            <>
              {first ? (
                <Group causes={first.causes} probability={first.probability} />
              ) : (
                <p>Nothing that the runs report changed with it.</p>
              )}
              {first && !found.named && <p className="soft">{unsure(found)}</p>}
              <p>
                <Link to="/jobs/$id/{-$tab}" params={{ id: bareName(found.job), tab: "why" }}>
                  What else changed, and what is equal
                </Link>
              </p>
            </>
          );
        return (
          <>
            <p role="status">
              {found.question === "slower"
                ? "It became slower"
                : found.goes_on
                  ? "It fails"
                  : "It failed, and recovered"}
              : {plural(found.bad, "bad run")} of the {found.runs} that were compared.
              {found.notes.map((note) => (
                <span key={note}> {sentenceOf(note)}</span>
              ))}
            </p>
            <Section title={headOf(found)}>
              {!first && (
                <p className="soft">
                  {found.bad === found.runs
                    ? "Every run that was compared is bad, so nothing tells a cause from chance."
                    : "Nothing that the runs report changed with it."}
                </p>
              )}
              {first && <Group causes={first.causes} probability={first.probability} />}
              {found.coinciding && <p className="soft">{unsure(found)}</p>}
              {(found.named || found.coinciding) && others.length > 0 ? (
                <details>
                  <summary>{plural(others.length + found.hidden, "other change")}, less likely</summary>
                  {others.map((group, i) => (
                    <Group key={i} causes={group.causes} probability={group.probability} />
                  ))}
                </details>
              ) : (
                others.map((group, i) => <Group key={i} causes={group.causes} probability={group.probability} />)
              )}
              {found.bad < found.runs && (
                <p className="soft">
                  That it is by chance: {percent(found.by_chance)}. That something changed which no run reports:{" "}
                  {percent(found.unreported)}.
                </p>
              )}
            </Section>
            <Section title="Compared">
              <Facts
                facts={[
                  ["Last good run", found.last_good && <RunOf key="g" run={found.last_good} />],
                  ["First bad run", found.first_bad && <RunOf key="b" run={found.first_bad} />],
                  ["Checked and equal", equalKinds(found.equal, found.equal_count)],
                  ["Not reported by any run", found.unknown.join(", ")],
                ]}
              />
            </Section>
          </>
        );
      }}
    </Answered>
  );
}

interface Sure {
  named: boolean;
  coinciding: boolean;
  coincidence: number;
  suspects: unknown[];
}

function headOf(found: Sure) {
  if (found.named) return "Cause";
  if (found.coinciding) return "No cause is sure; this changed at the same time";
  return found.suspects.length > 0 ? "No cause stands out; the likeliest first" : "No cause";
}

const unsure = (found: Sure) =>
  found.coinciding
    ? `It changed at the same time, which may be a coincidence: with ${percent(found.coincidence)} of the good runs before, a change as likely to do harm came, and did none.`
    : "No cause stands out; this is the likeliest.";

/** A note of the server, which begins in lower case, as a sentence. */
const sentenceOf = (note: string) => `${note.charAt(0).toUpperCase()}${note.slice(1)}.`;

function RunOf({ run }: { run: { run_id: string; started_at: string } }) {
  return (
    <RunLink id={run.run_id}>
      <When at={run.started_at} full />
    </RunLink>
  );
}

function Group({ causes, probability }: { causes: Cause[]; probability: number }) {
  return (
    <div className="suspects">
      {causes.length > 1 && (
        <p className="soft">
          One of these, {percent(probability)}: they came together and are in the same runs, so no run tells them apart.
        </p>
      )}
      {causes.map((cause) => (
        <article key={`${cause.kind} ${cause.name}`} className="suspect">
          <h3>
            {titleOf(cause)} {causes.length === 1 && <span className="tag">{percent(probability)}</span>}
          </h3>
          <ChangeLines change={cause} />
          <p className="soft">
            Since <RunOf run={cause} />: {cause.bad_with} bad and {cause.good_with} good with it, {cause.bad_without}{" "}
            bad and {cause.good_without} good without.{" "}
            {cause.harmless
              ? `${plural(cause.harmless, "such change")} before did no harm.`
              : "It never changed before."}
          </p>
        </article>
      ))}
    </div>
  );
}

function titleOf({ kind, name }: Change): string {
  return `${kind} ${name.replace(/^(dataset|job):/, "")}`.trim();
}

function ChangeLines({ change }: { change: Change }) {
  if (change.changes.length > 0)
    return (
      <ul className="diff">
        {change.changes.map((line, i) => (
          <li key={i} className={line.startsWith("+") ? "added" : line.startsWith("-") ? "gone" : undefined}>
            {line}
          </li>
        ))}
      </ul>
    );
  return (
    <p className="mono">
      {change.before ?? "not reported"} → {change.after ?? "not reported"}
    </p>
  );
}

/** Everything in which two runs differ, and what is equal. */
export function RunDifferences({ before, after }: { before: string; after: string }) {
  const difference = useAsk("/api/v2/runs/{before}/diff/{after}", { path: { before, after } });
  return (
    <Answered of={difference} lines={4}>
      {({ differences, equal, equal_count, unknown }) => (
        <Section title="All that differs" beside={plural(differences.length, "difference")}>
          <Facts facts={differences.map((one) => [titleOf(one), <ChangeLines key={titleOf(one)} change={one} />])} />
          <p className="soft">
            Equal: {equalKinds(equal, equal_count)}.
            {unknown.length > 0 && ` Not reported by either: ${unknown.join(", ")}.`}
          </p>
        </Section>
      )}
    </Answered>
  );
}

function equalKinds(equal: readonly { kind: string }[], total: number): string {
  const kinds = new Map<string, number>();
  for (const one of equal) kinds.set(one.kind, (kinds.get(one.kind) ?? 0) + 1);
  const words = [...kinds].map(([kind, number]) => (number > 1 ? `${kind} (${number})` : kind));
  if (total > equal.length) words.push(`${total - equal.length} more`);
  return words.join(", ") || "nothing that both report";
}
