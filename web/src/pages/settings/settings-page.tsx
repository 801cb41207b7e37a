// Who am I and what may I; and for admins: keys, listeners, rules about names, the audit.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMe } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { AuditTab } from "./audit-tab.tsx";
import { KeysTab } from "./keys-tab.tsx";
import { ListenersTab } from "./listeners-tab.tsx";
import { NamesTab } from "./names-tab.tsx";
import { ServerTab } from "./server-tab.tsx";
import { TabBar } from "../../parts/tab-bar.tsx";

const TABS: readonly [key: string, word: string, tab: () => React.ReactNode, admin: boolean][] = [
  ["me", "Who am I", WhoAmI, false],
  ["keys", "Keys", KeysTab, true],
  ["listeners", "Listeners", ListenersTab, true],
  ["names", "Names", NamesTab, true],
  ["audit", "Audit", AuditTab, true],
  ["server", "Server", ServerTab, false],
];

const route = getRouteApi("/settings/{-$tab}");

export function SettingsPage() {
  const { tab } = route.useParams();
  const me = useMe();
  const [key, , Tab, admin] = TABS.find(([one]) => one === tab) ?? TABS[0];
  const refused = admin && me.data !== undefined && me.data.role !== "admin";
  return (
    <Page
      title="Settings"
      tabs={
        <TabBar label="Settings">
          {TABS.map(([one, word]) => (
            <Link
              key={one}
              to="/settings/{-$tab}"
              params={{ tab: one === "me" ? undefined : one }}
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
      {admin && !me.data ? (
        <Answered of={me}>{() => null}</Answered>
      ) : refused ? (
        <p className="notice-line">
          This needs the role admin; you are {me.data.name} with the role {me.data.role}. Ask an admin for a key.
        </p>
      ) : (
        <Tab />
      )}
    </Page>
  );
}

const MAY: Record<string, string> = {
  read: "read everything",
  write: "read, send events, describe, tag and own, mark wrong, plan repairs",
  admin: "everything, keys and listeners too",
};

function WhoAmI() {
  const me = useMe();
  return (
    <Answered of={me}>
      {({ name, role, via, login, logout, limits }) => (
        <Section title="Who am I, and what may I">
          <Facts
            facts={[
              ["Name", name],
              ["Role", role],
              ["You may", MAY[role] ?? "nothing"],
              ["You see", limits.length > 0 && `${limits.join(", ")} only`],
              ["Known by", via === "open" ? "nothing: this server is open" : via.replaceAll("_", " ")],
              [
                "Sign in",
                login && (
                  <a key="i" href={login}>
                    Sign in
                  </a>
                ),
              ],
              [
                "Sign out",
                logout && (
                  <a key="o" href={logout}>
                    Sign out
                  </a>
                ),
              ],
            ]}
          />
        </Section>
      )}
    </Answered>
  );
}
