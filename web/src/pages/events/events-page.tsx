// The log of events, the programs that send them, and what is odd about either.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Page } from "../../parts/page.tsx";
import type { events as eventsSearch } from "../../search-params.ts";
import { DeadLettersTab } from "./dead-letters-tab.tsx";
import { DoctorTab } from "./doctor-tab.tsx";
import { LogTab } from "./log-tab.tsx";
import { ProducersTab } from "./producers-tab.tsx";
import { TabBar } from "../../parts/tab-bar.tsx";

export type EventsSearch = ReturnType<typeof eventsSearch>;
export interface EventsTabProps {
  search: EventsSearch;
  change(patch: EventsSearch): void;
}

const TABS: readonly [key: string, word: string, tab: (props: EventsTabProps) => React.ReactNode][] = [
  ["log", "Log", LogTab],
  ["producers", "Producers", ProducersTab],
  ["dead-letters", "Dead letters", DeadLettersTab],
  ["doctor", "What is odd", DoctorTab],
];

const route = getRouteApi("/events/{-$tab}");

export function EventsPage() {
  const { tab } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const change = (patch: EventsSearch) => void navigate({ to: ".", search: (now) => ({ ...now, ...patch }) as never });
  const [key, , Tab] = TABS.find(([one]) => one === tab) ?? TABS[0];
  return (
    <Page
      title="Events"
      tabs={
        <TabBar label="Events">
          {TABS.map(([one, word]) => (
            <Link
              key={one}
              to="/events/{-$tab}"
              params={{ tab: one === "log" ? undefined : one }}
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
      <Tab search={search} change={change} />
    </Page>
  );
}
