// Alerts that rules raised, and whom they reached; the rules that hold; and the channels that messages go to.
import { getRouteApi, Link } from "@tanstack/react-router";
import { Page } from "../../parts/page.tsx";
import { AlertsTab } from "./alerts-tab.tsx";
import { ChannelsTab } from "./channels-tab.tsx";
import { RulesTab } from "./rules-tab.tsx";
import { TabBar } from "../../parts/tab-bar.tsx";

const TABS: readonly [key: string, word: string, tab: () => React.ReactNode][] = [
  ["alerts", "Alerts", AlertsTab],
  ["rules", "Rules", RulesTab],
  ["channels", "Channels", ChannelsTab],
];

const route = getRouteApi("/alerting/{-$tab}");

export function AlertsPage() {
  const { tab } = route.useParams();
  const [key, , Tab] = TABS.find(([one]) => one === tab) ?? TABS[0]!;
  return (
    <Page
      title="Alerts"
      lede="What rules noticed, under its first cause, and the people it was sent to."
      tabs={
        <TabBar label="Alerts">
          {TABS.map(([one, word]) => (
            <Link
              key={one}
              to="/alerting/{-$tab}"
              params={{ tab: one === "alerts" ? undefined : one }}
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
      <Tab />
    </Page>
  );
}
