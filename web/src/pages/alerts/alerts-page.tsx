// What rules told, to whom; the rules that hold; and the channels that messages go to.
import { getRouteApi, Link } from "@tanstack/react-router";
import { Page } from "../../parts/page.tsx";
import { AlertsTab } from "./alerts-tab.tsx";
import { ChannelsTab } from "./channels-tab.tsx";
import { RulesTab } from "./rules-tab.tsx";

const TABS: readonly [key: string, word: string, tab: () => React.ReactNode][] = [
  ["told", "Told", AlertsTab],
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
      lede="What the rules watch, each under its first cause, and the people who were told. Rules are YAML files that `headwater rules apply` brings here."
      tabs={
        <nav className="tabs" aria-label="Alerts">
          {TABS.map(([one, word]) => (
            <Link
              key={one}
              to="/alerting/{-$tab}"
              params={{ tab: one === "told" ? undefined : one }}
              className={`tab${one === key ? " is-on" : ""}`}
              aria-current={one === key ? "page" : undefined}
            >
              {word}
            </Link>
          ))}
        </nav>
      }
    >
      <Tab />
    </Page>
  );
}
