import { Tabs } from "@mantine/core";
import { useDataset } from "../api/queries.ts";
import { Message, Trouble } from "../pages/message.tsx";
import { When } from "../pages/when.tsx";
import { navigate, useUrl } from "../url.ts";
import { Facets } from "./facets.tsx";
import { NodeList } from "./node-list.tsx";
import { PanelHead } from "./panel-head.tsx";
import { SchemaTable } from "./schema-table.tsx";
import { Versions } from "./versions.tsx";

const TABS = ["schema", "versions", "jobs", "facets"];

export function DatasetPanel({ reference }: { reference: { id: string; namespace: string; name: string } }) {
  const { asOf, tab } = useUrl();
  const query = useDataset(reference, asOf);
  const dataset = query.data;
  if (query.error && !dataset) return <Trouble error={query.error} retry={() => void query.refetch()} />;
  if (!dataset) return <Message title="Loading…" />;
  return (
    <>
      <PanelHead {...dataset} kind="dataset">
        <dt>Updated</dt>
        <dd>
          <When at={dataset.updated_at} />
        </dd>
        <dt>First seen</dt>
        <dd>
          <When at={dataset.first_seen} />
        </dd>
      </PanelHead>
      <Tabs
        value={tab && TABS.includes(tab) ? tab : "schema"}
        onChange={(value) => navigate({ tab: value === "schema" ? null : value }, { replace: true })}
      >
        <Tabs.List px="xs">
          <Tabs.Tab value="schema">Schema {dataset.fields.length || ""}</Tabs.Tab>
          <Tabs.Tab value="versions">Versions {dataset.versions.length || ""}</Tabs.Tab>
          <Tabs.Tab value="jobs">Jobs {dataset.producers.length + dataset.consumers.length || ""}</Tabs.Tab>
          <Tabs.Tab value="facets">Facets</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="schema" className="panel-body">
          <SchemaTable id={dataset.id} fields={dataset.fields} />
        </Tabs.Panel>
        <Tabs.Panel value="versions" className="panel-body">
          <Versions versions={dataset.versions} />
        </Tabs.Panel>
        <Tabs.Panel value="jobs" className="panel-body">
          <NodeList title="Written by" ids={dataset.producers} none="No job is known to write it." />
          <NodeList title="Read by" ids={dataset.consumers} none="No job is known to read it." />
        </Tabs.Panel>
        <Tabs.Panel value="facets" className="panel-body">
          <Facets facets={dataset.facets} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
