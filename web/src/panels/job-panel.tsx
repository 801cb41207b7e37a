import { Tabs } from "@mantine/core";
import { useJob } from "../api/queries.ts";
import { shortId } from "../format.ts";
import { Message, Trouble } from "../pages/message.tsx";
import { PageLink } from "../pages/open-node.tsx";
import { When } from "../pages/when.tsx";
import { navigate, useUrl } from "../url.ts";
import { Facets } from "./facets.tsx";
import { NodeList } from "./node-list.tsx";
import { PanelHead } from "./panel-head.tsx";
import { RunList } from "./run-list.tsx";

const TABS = ["runs", "data", "facets"];

export function JobPanel({ reference }: { reference: { id: string; namespace: string; name: string } }) {
  const { asOf, tab } = useUrl();
  const query = useJob(reference, asOf);
  const job = query.data;
  if (query.error && !job) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!job) return <Message title="Loading…" />;
  const last = job.runs[0];
  return (
    <>
      <PanelHead {...job} kind="job">
        <dt>State</dt>
        <dd>
          {last ? (
            <span className="state">
              <i className={`dot ${last.effective_state.toLowerCase()}`} />
              {last.effective_state}
              <span className="soft">
                <When at={last.started_at} />
              </span>
            </span>
          ) : (
            "no run yet"
          )}
        </dd>
        {job.parent && (
          <>
            <dt>Part of</dt>
            <dd>
              <PageLink
                className="name mono"
                patch={{ selected: job.parent, tab: null, run: null, field: null }}
                title={job.parent}
              >
                {shortId(job.parent)}
              </PageLink>
            </dd>
          </>
        )}
        <dt>First seen</dt>
        <dd>
          <When at={job.first_seen} />
        </dd>
      </PanelHead>
      <Tabs
        value={tab && TABS.includes(tab) ? tab : "runs"}
        onChange={(value) => navigate({ tab: value === "runs" ? null : value }, { replace: true })}
      >
        <Tabs.List px="xs">
          <Tabs.Tab value="runs">Runs {job.runs.length || ""}</Tabs.Tab>
          <Tabs.Tab value="data">Inputs and outputs</Tabs.Tab>
          <Tabs.Tab value="facets">Facets</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="runs" className="panel-body">
          <RunList runs={job.runs} none="This job has not run yet." />
        </Tabs.Panel>
        <Tabs.Panel value="data" className="panel-body">
          <NodeList title="Reads" ids={job.inputs} none="It is not known to read anything." />
          <NodeList title="Writes" ids={job.outputs} none="It is not known to write anything." />
          {job.children.length > 0 && <NodeList title="Consists of" ids={job.children} none="" />}
        </Tabs.Panel>
        <Tabs.Panel value="facets" className="panel-body">
          <Facets facets={job.facets} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
