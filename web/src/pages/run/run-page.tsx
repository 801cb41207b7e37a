// One run: what it read and wrote by version, its children over time, its parameters, code and error; beside another run.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useRun } from "../../api/queries.ts";
import { useTroubles } from "../../api/troubles.ts";
import type { RunDetail } from "../../api/types.ts";
import { bytes, count, duration, exact, plural } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Copy } from "../../parts/copy.tsx";
import { Facets } from "../../parts/facets.tsx";
import { labelMarks, Marks } from "../../parts/marks.tsx";
import { Command, Trouble as Refusal } from "../../parts/message.tsx";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
import { Table } from "../../parts/table.tsx";
import { Waiting } from "../../parts/waiting.tsx";
import { When } from "../../parts/when.tsx";
import { RunReceipts } from "../events/run-receipts.tsx";
import { Trouble } from "../incidents/trouble.tsx";
import { Beside } from "./beside.tsx";
import { Why } from "../job/why.tsx";
import { Gantt } from "./gantt.tsx";
import { TabBar } from "../../parts/tab-bar.tsx";

const TABS: readonly [key: string, word: string, tab: (props: { run: RunDetail }) => React.ReactNode][] = [
  ["overview", "Overview", Overview],
  ["why", "Why it failed", ({ run }) => <Why run={run.id} />],
  ["compare", "Beside another", ({ run }) => <Beside run={run} />],
  ["events", "Events", ({ run }) => <RunReceipts run={run.id} />],
  [
    "raw",
    "Facets",
    ({ run }) => (
      <>
        <Section title="Of the run">
          <Facets facets={run.facets} />
        </Section>
        <Section title="Of the job">
          <Facets facets={run.job_facets} />
        </Section>
      </>
    ),
  ],
];

const BAD = new Set(["FAILED", "ABORTED"]);
const route = getRouteApi("/runs/$id/{-$tab}");

export function RunPage() {
  const { id, tab } = route.useParams();
  const query = useRun(id);
  const run = query.data;
  if (!run)
    return (
      <main className={query.error ? "stage" : "page"}>
        {query.error ? <Refusal error={query.error} retry={() => void query.refetch()} /> : <Waiting lines={8} />}
      </main>
    );
  const [key, , Tab] = TABS.find(([one]) => one === tab) ?? TABS[0];
  return (
    <Page
      title={`Run of ${distinguish([{ id: run.job }]).get(run.job)}`}
      beside={
        <span className="head-actions">
          <Copy text={run.id} what="the run's id" />
          <Link className="button" to="/lineage/$node" params={{ node: run.id }}>
            Lineage of the run
          </Link>
          <Link className="button quiet" to="/lineage/$node" params={{ node: run.job }}>
            Lineage of the job
          </Link>
        </span>
      }
      lede={
        <span className="lights">
          <span className="light">
            <State state={runState(run)} />
            {run.effective_state !== run.state && (
              <span className="soft">by a child; itself {run.state.toLowerCase()}</span>
            )}
          </span>
          <span className="light">
            <When at={run.started_at} full />, {duration(run.duration_ms)}
          </span>
          <span className="mono soft name">{run.id}</span>
        </span>
      }
      tabs={
        <TabBar label="Of this run">
          {TABS.filter(([one]) => one !== "why" || BAD.has(run.state)).map(([one, word]) => (
            <Link
              key={one}
              to="/runs/$id/{-$tab}"
              params={{ id, tab: one === "overview" ? undefined : one }}
              className={`tab${one === key ? " is-on" : ""}`}
              activeOptions={{ exact: true }}
              aria-current={one === key ? "page" : undefined}
            >
              {word}
            </Link>
          ))}
        </TabBar>
      }
    >
      <Tab run={run} />
    </Page>
  );
}

function Overview({ run }: { run: RunDetail }) {
  const failure = errorOf(run);
  const parameters = Object.entries(run.parameters);
  const troubles = useTroubles();
  return (
    <>
      {failure && (
        <Section title="Error">
          <div className="failure">{failure.message}</div>
          {failure.stack && (
            <details>
              <summary>Stack trace</summary>
              <pre className="code" tabIndex={0}>
                {failure.stack}
              </pre>
            </details>
          )}
        </Section>
      )}
      {run.stalled_reason && <p className="notice-line">{run.stalled_reason}</p>}
      {run.coverage && (run.coverage.not_seen > 0 || run.coverage.limits.length > 0) && (
        <Section title="Not seen">
          <ul>
            {run.coverage.reasons.map((one) => (
              <li key={`${one.what} ${one.why}`}>
                {one.what}: {one.why}
              </li>
            ))}
            {run.coverage.limits.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </Section>
      )}
      {run.children.length > 0 && (
        <Section title="Timeline" beside={<ChildRuns run={run} />}>
          <Gantt run={run} />
        </Section>
      )}
      <div className="columns-2">
        <Section title="Facts">
          <Facts
            facts={[
              ["Job", <NodeLink key="j" id={run.job} />],
              ["Coverage", run.coverage?.summary],
              [
                "Part of",
                run.parent && (
                  <RunLink key="p" id={run.parent.run_id}>
                    run of {distinguish([{ id: run.parent.job }]).get(run.parent.job)}
                  </RunLink>
                ),
              ],
              [
                "Period",
                run.nominal_start && (
                  <span key="n" className="mono">
                    {exact(run.nominal_start)} to {exact(run.nominal_end)}
                  </span>
                ),
              ],
              ["Ended", run.ended_at && <When key="e" at={run.ended_at} full />],
              ["Last event", run.last_event_at && <When key="l" at={run.last_event_at} />],
              ["Run by", run.user],
              ["Labels", run.labels.length > 0 && <Marks key="b" marks={labelMarks(run.labels)} kind="runs" />],
              [
                "Id of the tool",
                run.external_id && (
                  <span key="x" className="mono">
                    {run.external_id}
                  </span>
                ),
              ],
              [
                "Code",
                run.code && (
                  <span key="c" className="mono">
                    {run.code.version?.slice(0, 40) ?? "unknown"}
                    {run.code.dirty && <span className="tag">uncommitted changes</span>}
                    {run.code.url && <span className="soft name">{run.code.url}</span>}
                  </span>
                ),
              ],
            ]}
          />
        </Section>
        <Section title="Parameters">
          {parameters.length === 0 && <p className="soft">No parameters were reported.</p>}
          <dl className="facts mono">
            {parameters.map(([key, value]) => (
              <div key={key}>
                <dt>{key}</dt>
                <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
              </div>
            ))}
          </dl>
        </Section>
      </div>
      <Section title="Read" beside={plural(run.inputs.length, "dataset")}>
        <Table
          label="Read"
          rows={run.inputs}
          keyOf={(input) => input.dataset}
          columns={[
            {
              id: "dataset",
              header: "Dataset",
              wide: true,
              value: (input) => input.dataset,
              cell: (input) => <NodeLink id={input.dataset} />,
            },
            {
              id: "now",
              header: "Now",
              value: (input) => troubles.get(input.dataset)?.kind ?? null,
              cell: (input) => <Trouble of={input.dataset} among={troubles} />,
            },
            {
              id: "version",
              header: "Version",
              value: (input) => input.external_version ?? input.version_id,
              cell: (input) => (
                <span className="mono">{input.external_version ?? input.version_id?.slice(0, 8) ?? "not known"}</span>
              ),
            },
            {
              id: "by",
              header: "Written by",
              value: (input) => input.written_by?.run_id,
              cell: (input) =>
                input.written_by ? (
                  <RunLink id={input.written_by.run_id}>
                    {distinguish([{ id: input.written_by.job }]).get(input.written_by.job)}
                  </RunLink>
                ) : (
                  <span className="soft">not known</span>
                ),
            },
          ]}
          empty={<p className="soft">Nothing was reported as read.</p>}
        />
      </Section>
      <Section title="Wrote" beside={plural(run.outputs.length, "dataset")}>
        <Table
          label="Wrote"
          rows={run.outputs}
          keyOf={(output) => output.dataset}
          columns={[
            {
              id: "dataset",
              header: "Dataset",
              wide: true,
              value: (output) => output.dataset,
              cell: (output) => <NodeLink id={output.dataset} tab="versions" />,
            },
            {
              id: "now",
              header: "Now",
              value: (output) => troubles.get(output.dataset)?.kind ?? null,
              cell: (output) => <Trouble of={output.dataset} among={troubles} />,
            },
            {
              id: "rows",
              header: "Rows",
              number: true,
              value: (output) => output.rows,
              cell: (output) => count(output.rows),
            },
            {
              id: "bytes",
              header: "Size",
              number: true,
              value: (output) => output.bytes,
              cell: (output) => bytes(output.bytes),
            },
            {
              id: "files",
              header: "Files",
              number: true,
              minor: true,
              value: (output) => output.files,
              cell: (output) => count(output.files),
            },
            {
              id: "version",
              header: "Version",
              minor: true,
              value: (output) => output.external_version ?? output.version_id,
              cell: (output) => (
                <span className="mono">{output.external_version ?? output.version_id?.slice(0, 8) ?? "–"}</span>
              ),
            },
          ]}
          empty={<p className="soft">Nothing was reported as written.</p>}
        />
      </Section>
      <Section title="If it was wrong">
        <p>This shows which runs and versions used what it wrote, before anything is written.</p>
        <Command text={`headwater taint ${run.id} --dry-run`} />
      </Section>
    </>
  );
}

/** The whole message and the stack trace are in the facet; the run itself carries the first line. */
function ChildRuns({ run }: { run: RunDetail }) {
  const shown = run.children.length;
  if (!run.more_children) return plural(shown, "child run");
  return (
    <>
      {count(shown)} of {plural(shown + run.more_children, "child run")},{" "}
      <Link to="/catalogue/$kind" params={{ kind: "runs" }} search={{ parent: run.id }}>
        list all
      </Link>
    </>
  );
}

function errorOf(run: RunDetail): { message: string; stack: string | null } | null {
  const facet = run.facets.errorMessage as { message?: unknown; stackTrace?: unknown } | undefined;
  const message = typeof facet?.message === "string" ? facet.message : run.error;
  if (!message) return null;
  return { message, stack: typeof facet?.stackTrace === "string" ? facet.stackTrace : null };
}
