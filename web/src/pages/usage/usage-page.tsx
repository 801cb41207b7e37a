// What query logs tell: use, cost, recurrence, what may be removed, and how well the log was understood.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Page } from "../../parts/page.tsx";
import type { usage as usageSearch } from "../../search-params.ts";
import { CostTab } from "./cost-tab.tsx";
import { PruningTab } from "./pruning-tab.tsx";
import { QualityTab } from "./quality-tab.tsx";
import { RecurrenceTab } from "./recurrence-tab.tsx";
import { UseTab } from "./use-tab.tsx";
import { TabBar } from "../../parts/tab-bar.tsx";

export type UsageSearch = ReturnType<typeof usageSearch>;
export interface UsageTabProps {
  search: UsageSearch;
  change(patch: UsageSearch): void;
}

const TABS: readonly [key: string, word: string, tab: (props: UsageTabProps) => React.ReactNode][] = [
  ["usage", "Use", UseTab],
  ["cost", "Cost", CostTab],
  ["recurrence", "Recurrence", RecurrenceTab],
  ["pruning", "What may be removed", PruningTab],
  ["quality", "How well the log is understood", QualityTab],
];

const route = getRouteApi("/usage/{-$tab}");

export function UsagePage() {
  const { tab } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const change = (patch: UsageSearch) => void navigate({ to: ".", search: (now) => ({ ...now, ...patch }) as never });
  const [key, word, Tab] = TABS.find(([one]) => one === tab) ?? TABS[0];
  return (
    <Page
      title={word}
      tabs={
        <TabBar label="Measures">
          {TABS.map(([one, text]) => (
            <Link
              key={one}
              to="/usage/{-$tab}"
              params={{ tab: one === "usage" ? undefined : one }}
              className={`tab${one === key ? " is-on" : ""}`}
              activeOptions={{ exact: true }}
              aria-current={one === key ? "page" : undefined}
            >
              {text}
            </Link>
          ))}
        </TabBar>
      }
    >
      <Tab search={search} change={change} />
    </Page>
  );
}
