// The declared order of a DAG's tasks against what their data asks for: races with the runs in which luck decided, and waits for nothing.
import type { Answer } from "../../api/client.ts";
import { useAskByBody } from "../../api/queries.ts";
import { ApiError } from "../../api/client.ts";
import { duration, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command, Empty } from "../../parts/message.tsx";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import type { JobTabProps } from "./job-page.tsx";

type Order = Answer<"/api/v2/task-order", "post">;
type Dependency = Order["missing"][number];

export function OrderTab({ job }: JobTabProps) {
  const order = useAskByBody("/api/v2/task-order", { node: job.id }, true);
  const command = `headwater order '${job.name}' --serialized dag.json`;
  if (order.error instanceof ApiError && order.error.status === 404)
    return (
      <Empty title="No event reports the order of its tasks" command={command}>
        Airflow's OpenLineage provider reports it; or give the serialised DAG to the command.
      </Empty>
    );
  return (
    <Answered of={order} lines={6}>
      {(found) => (
        <>
          <p className="verdict" role="status">
            <State {...stateOf(found)} />
            <span>{verdictOf(found)}</span>
          </p>
          <Dependencies
            title="Missing"
            says="No dependency is declared, so that luck decides which of the two comes first."
            rows={found.missing}
          />
          <Dependencies
            title="Reversed"
            says="The reader is declared to run before the task that writes what it reads: it reads what the run before wrote."
            rows={found.backward}
          />
          {found.needless.length > 0 && (
            <Section title="Needless" beside={plural(found.needless.length, "dependency", "dependencies")}>
              <p className="soft">Declared, though no data flows along it: the second task only waits.</p>
              <ul className="list">
                {found.needless.map((one) => (
                  <li key={`${one.before} ${one.after}`} className="mono">
                    {one.before} &gt;&gt; {one.after}
                  </li>
                ))}
              </ul>
            </Section>
          )}
          <Tasks title="Tasks that report no dataset" names={found.unreported} says="Nothing is said of their order." />
          <Tasks title="Tasks that the order does not have" names={found.undeclared} says="They ran, with data." />
          <Command text={`headwater order '${job.name}'`} />
        </>
      )}
    </Answered>
  );
}

const stateOf = ({ missing, backward, needless }: Order) =>
  missing.length + backward.length > 0
    ? { state: "failed", word: "races" }
    : { state: needless.length > 0 ? "stale" : "completed", word: needless.length > 0 ? "waits" : "in order" };

function verdictOf({ tasks, missing, backward, needless }: Order): string {
  const wrong = missing.length + backward.length;
  if (wrong === 0 && needless.length === 0) return `The order of ${plural(tasks, "task")} is what their data asks for.`;
  const unlucky = [...missing, ...backward].reduce((sum, one) => sum + one.runs - one.lucky, 0);
  const parts = [
    missing.length > 0 && `${plural(missing.length, "dependency", "dependencies")} missing`,
    backward.length > 0 && `${backward.length} reversed`,
    needless.length > 0 && `${needless.length} needless`,
    wrong > 0 && `read before it was written ${plural(unlucky, "time")}`,
  ];
  return `Of ${plural(tasks, "task")}: ${parts.filter(Boolean).join(", ")}.`;
}

function Dependencies({ title, says, rows }: { title: string; says: string; rows: readonly Dependency[] }) {
  if (rows.length === 0) return null;
  return (
    <Section title={title} beside={plural(rows.length, "dependency", "dependencies")}>
      <p className="soft">{says}</p>
      {rows.map((one) => (
        <div key={`${one.writer} ${one.reader}`}>
          <h3 className="mono">
            {one.writer} &gt;&gt; {one.reader}
          </h3>
          <p className="path">
            <span>
              <span className="mono">{one.reader}</span> reads
            </span>
            {one.datasets.map((id) => (
              <NodeLink key={id} id={id} />
            ))}
          </p>
          <p>
            {one.runs === 0
              ? "No run has both."
              : `In ${one.lucky} of ${plural(one.runs, "run")} it was written in time.`}
          </p>
          <Table
            label={`Runs of ${one.writer} and ${one.reader}`}
            rows={one.races}
            keyOf={(race) => race.run}
            columns={[
              { id: "run", header: "Run", value: (race) => race.run, cell: (race) => <RunLink id={race.run} /> },
              {
                id: "luck",
                header: "In time",
                value: (race) => (race.lucky ? "lucky" : "read before it was written"),
                cell: (race) => (
                  <State
                    state={race.lucky ? "completed" : "failed"}
                    word={race.lucky ? "lucky" : "read before it was written"}
                  />
                ),
              },
              {
                id: "margin",
                header: "By",
                number: true,
                value: (race) => marginOf(race),
                cell: (race) => duration(marginOf(race)),
              },
              {
                id: "written",
                header: "Written",
                value: (race) => race.written_at,
                cell: (race) => <When at={race.written_at} full />,
              },
              {
                id: "read",
                header: "Read",
                value: (race) => race.read_at,
                cell: (race) => <When at={race.read_at} full />,
              },
            ]}
            empty={null}
          />
          {one.runs > one.races.length && (
            <p className="soft">{plural(one.runs - one.races.length, "more run")}, all of them not worse.</p>
          )}
        </div>
      ))}
    </Section>
  );
}

const marginOf = ({ written_at, read_at }: Dependency["races"][number]) =>
  written_at === null ? null : Math.abs(Date.parse(read_at) - Date.parse(written_at));

function Tasks({ title, names, says }: { title: string; names: readonly string[]; says: string }) {
  if (names.length === 0) return null;
  return (
    <Section title={title} beside={plural(names.length, "task")}>
      <p className="soft">{says}</p>
      <p className="mono">{names.join(", ")}</p>
    </Section>
  );
}
