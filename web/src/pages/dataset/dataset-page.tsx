// One dataset: its head is the same on every tab, and each tab answers one question.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { useAsk, useDataset, useReference } from "../../api/queries.ts";
import { bareName, distinguish } from "../../names.ts";
import { Copy } from "../../parts/copy.tsx";
import { Trouble } from "../../parts/message.tsx";
import { KindMark } from "../../parts/node-link.tsx";
import { Page } from "../../parts/page.tsx";
import { Subscribe } from "../../parts/subscribe.tsx";
import { Waiting } from "../../parts/waiting.tsx";
import { rememberLook } from "../home/looked-at.ts";
import { CompletenessTab } from "./completeness-tab.tsx";
import { CostTab } from "./cost-tab.tsx";
import { EventsTab } from "./events-tab.tsx";
import { HistoryTab } from "./history-tab.tsx";
import { IncidentsTab } from "./incidents-tab.tsx";
import { Lights } from "./lights.tsx";
import { LogTab } from "./log-tab.tsx";
import { Overview } from "./overview-tab.tsx";
import { RawTab } from "./raw-tab.tsx";
import { ScheduleTab } from "./schedule-tab.tsx";
import { SchemaTab } from "./schema-tab.tsx";
import type { TabProps } from "./tab-props.ts";
import { UsageTab } from "./usage-tab.tsx";
import { VersionsTab } from "./versions-tab.tsx";
import { TabBar } from "../../parts/tab-bar.tsx";

const TABS: readonly [key: string, word: string, tab: (props: TabProps) => React.ReactNode][] = [
  ["overview", "Overview", Overview],
  ["schema", "Schema", SchemaTab],
  ["versions", "Versions", VersionsTab],
  ["incidents", "Checks and incidents", IncidentsTab],
  ["schedule", "Schedule", ScheduleTab],
  ["usage", "Usage", UsageTab],
  ["cost", "Cost", CostTab],
  ["completeness", "Completeness", CompletenessTab],
  ["log", "Log and blame", LogTab],
  ["history", "History", HistoryTab],
  ["events", "Events", EventsTab],
  ["raw", "Facets", RawTab],
];

const route = getRouteApi("/datasets/$id/{-$tab}");

export function DatasetPage() {
  const { id: bare, tab } = route.useParams();
  const { asOf } = route.useSearch();
  const id = `dataset:${bare}`;
  const reference = useReference(id);
  const dataset = useDataset(reference.data, asOf ?? null);
  // Others of the same last name: the head takes in as much as sets this one apart from them.
  const last = dataset.data?.label;
  const alike = useAsk("/api/v2/datasets", { query: { q: last, limit: 50 } }, { enabled: last !== undefined });
  useEffect(() => {
    if (dataset.data) rememberLook(dataset.data.id);
  }, [dataset.data]);
  const error = reference.error ?? (dataset.data ? null : dataset.error);
  if (error)
    return (
      <main className="stage">
        <Trouble error={error} retry={() => void (reference.error ? reference.refetch() : dataset.refetch())} />
      </main>
    );
  if (!dataset.data || !reference.data)
    return (
      <main className="page">
        <Waiting lines={8} />
      </main>
    );
  const [key, , Tab] = TABS.find(([one]) => one === tab) ?? TABS[0];
  const name = distinguish([dataset.data, ...(alike.data?.datasets ?? [])]).get(dataset.data.id) ?? dataset.data.label;
  return (
    <Page
      title={name}
      mark={<KindMark id={id} />}
      beside={
        <span className="head-actions">
          <Copy text={dataset.data.id} what="the id" />
          <Link className="button" to="/lineage/$node" params={{ node: dataset.data.id }}>
            Lineage
          </Link>
          <Link className="button quiet" to="/whatif" search={{ of: dataset.data.id }}>
            What if
          </Link>
          <Subscribe id={dataset.data.id} />
        </span>
      }
      lede={
        <>
          <span className="name mono soft" title={dataset.data.id}>
            {bareName(dataset.data.id)}
          </span>
          <Lights reference={reference.data} id={bare} />
        </>
      }
      tabs={
        <TabBar label="Of this dataset">
          {TABS.map(([one, word]) => (
            <Link
              key={one}
              to="/datasets/$id/{-$tab}"
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
      <Tab dataset={dataset.data} reference={reference.data} asOf={asOf ?? null} />
    </Page>
  );
}
