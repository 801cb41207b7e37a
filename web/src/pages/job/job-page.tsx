// One job: its runs over time, what it reads and writes, its code as it changed.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { useJob, useReference, type Reference } from "../../api/queries.ts";
import type { Job } from "../../api/types.ts";
import { bareName } from "../../names.ts";
import { Copy } from "../../parts/copy.tsx";
import { Facets } from "../../parts/facets.tsx";
import { Trouble } from "../../parts/message.tsx";
import { Marks, traitMarks } from "../../parts/marks.tsx";
import { KindMark, NodeLink, NodeList } from "../../parts/node-link.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { Subscribe } from "../../parts/subscribe.tsx";
import { State } from "../../parts/state.tsx";
import { runState } from "../../run-state.ts";
import { Waiting } from "../../parts/waiting.tsx";
import { When } from "../../parts/when.tsx";
import { PeopleChanges } from "../changes/people-changes.tsx";
import { rememberLook } from "../home/looked-at.ts";
import { Described } from "../metadata/described.tsx";
import { CodeTab } from "./code-tab.tsx";
import { DurationsTab } from "./durations-tab.tsx";
import { OrderTab } from "./order-tab.tsx";
import { RunsTab } from "./runs-tab.tsx";
import { Why } from "./why.tsx";
import { TabBar } from "../../parts/tab-bar.tsx";

export interface JobTabProps {
  job: Job;
  reference: Reference;
}

const TABS: readonly [
  key: string,
  word: string,
  tab: (props: JobTabProps) => React.ReactNode,
  of?: (job: Job) => boolean,
][] = [
  ["overview", "Overview", Overview],
  ["runs", "Runs", RunsTab],
  ["why", "Why", ({ job }) => <Why job={job.id} />],
  ["durations", "Durations", DurationsTab],
  ["order", "Order", OrderTab, (job) => job.children.length > 0],
  ["code", "Code", CodeTab],
  ["history", "History", ({ job }) => <PeopleChanges target={job.id} />],
  ["raw", "Facets", ({ job }) => <Facets facets={job.facets} />],
];

const route = getRouteApi("/jobs/$id/{-$tab}");

export function JobPage() {
  const { id: bare, tab } = route.useParams();
  const { asOf } = route.useSearch();
  const id = `job:${bare}`;
  const reference = useReference(id);
  const job = useJob(reference.data, asOf ?? null);
  useEffect(() => {
    if (job.data) rememberLook(job.data.id);
  }, [job.data]);
  const error = reference.error ?? (job.data ? null : job.error);
  if (error)
    return (
      <main className="stage">
        <Trouble error={error} retry={() => void (reference.error ? reference.refetch() : job.refetch())} />
      </main>
    );
  if (!job.data || !reference.data)
    return (
      <main className="page">
        <Waiting lines={8} />
      </main>
    );
  const tabs = TABS.filter(([, , , isOf]) => isOf?.(job.data) ?? true);
  const [key, , Tab] = tabs.find(([one]) => one === tab) ?? tabs[0]!;
  const last = job.data.runs[0];
  return (
    <Page
      title={job.data.label}
      mark={<KindMark id={id} />}
      beside={
        <span className="head-actions">
          <Copy text={job.data.id} what="the id" />
          <Link className="button" to="/lineage/$node" params={{ node: job.data.id }}>
            Lineage
          </Link>
          <Subscribe id={job.data.id} />
        </span>
      }
      lede={
        <>
          <span className="name mono soft" title={job.data.id}>
            {bareName(job.data.id)}
          </span>
          <span className="lights">
            {last ? (
              <Link className="light" to="/runs/$id/{-$tab}" params={{ id: last.id, tab: undefined }}>
                <State state={runState(last)} /> <When at={last.started_at} />
              </Link>
            ) : (
              <span className="soft">no run yet</span>
            )}
          </span>
        </>
      }
      tabs={
        <TabBar label="Of this job">
          {tabs.map(([one, word]) => (
            <Link
              key={one}
              to="/jobs/$id/{-$tab}"
              params={{ id: bare, tab: one === "overview" ? undefined : one }}
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
      <Tab job={job.data} reference={reference.data} />
    </Page>
  );
}

function Overview({ job, reference }: JobTabProps) {
  return (
    <div className="columns-2">
      <div>
        <Described kind="jobs" reference={reference} node={job} />
        <Section title="Facts">
          <Facts
            facts={[
              [
                "Namespace",
                <span key="n" className="mono">
                  {job.namespace}
                </span>,
              ],
              [
                "Name",
                <span key="m" className="mono">
                  {job.name}
                </span>,
              ],
              ["Part of", job.parent && <NodeLink key="p" id={job.parent} />],
              ["First seen", <When key="f" at={job.first_seen} />],
              ["Kind of statement", job.statement],
              ["Run by", job.user],
              ["Lasts", job.streaming && "until it is stopped: it streams"],
              ["Traits", job.traits.length > 0 && <Marks key="t" marks={traitMarks(job.traits)} kind="jobs" />],
            ]}
          />
        </Section>
        {job.same_as.length > 0 && (
          <Section title="Same node of dbt">
            <NodeList ids={job.same_as} none="" />
          </Section>
        )}
        {job.children.length > 0 && (
          <Section title="Consists of">
            <NodeList ids={job.children} none="" />
          </Section>
        )}
      </div>
      <div>
        <Section title="Reads">
          <NodeList ids={job.inputs} none="It is not known to read anything." />
        </Section>
        <Section title="Writes">
          <NodeList ids={job.outputs} none="It is not known to write anything." />
        </Section>
        {job.runs_after.length > 0 && (
          <Section title="Runs after" beside="order of control, no flow of data">
            <Order jobs={job.runs_after} />
          </Section>
        )}
        {job.runs_before.length > 0 && (
          <Section title="Runs before" beside="order of control, no flow of data">
            <Order jobs={job.runs_before} />
          </Section>
        )}
      </div>
    </div>
  );
}

function Order({ jobs }: { jobs: Job["runs_after"] }) {
  return (
    <ul className="list">
      {jobs.map(({ job, kind, last_seen }) => (
        <li key={job}>
          <NodeLink id={job} />
          <span className="soft">
            {kind && `${kind.toLowerCase().replaceAll("_", " ")}, `}reported <When at={last_seen} />
          </span>
        </li>
      ))}
    </ul>
  );
}
