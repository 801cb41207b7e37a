// All that is known, by kind: words and facets narrow it, columns order it, and the list can be taken along.
import { getRouteApi, Link } from "@tanstack/react-router";
import { Page } from "../../parts/page.tsx";
import { Dashboards } from "./dashboards.tsx";
import { Datasets } from "./datasets.tsx";
import { Entities } from "./entities.tsx";
import { Jobs } from "./jobs.tsx";
import { People } from "./people.tsx";
import { Runs } from "./runs.tsx";
import { Sources } from "./sources.tsx";
import { Tags } from "./tags.tsx";
import { Teams } from "./teams.tsx";
import { TabBar } from "../../parts/tab-bar.tsx";

const KINDS = [
  ["datasets", "Datasets", Datasets],
  ["jobs", "Jobs", Jobs],
  ["runs", "Runs", Runs],
  ["dashboards", "Dashboards", Dashboards],
  ["entities", "Schedules", Entities],
  ["sources", "Sources", Sources],
  ["teams", "Teams", Teams],
  ["people", "People", People],
  ["tags", "Tags", Tags],
] as const;

const route = getRouteApi("/catalogue/$kind");

export function CataloguePage() {
  const { kind } = route.useParams();
  const [key, title, Kind] = KINDS.find(([one]) => one === kind) ?? KINDS[0];
  return (
    <Page
      title={title}
      tabs={
        <TabBar label="Kinds">
          {KINDS.map(([one, word]) => (
            <Link
              key={one}
              to="/catalogue/$kind"
              params={{ kind: one }}
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
      <Kind key={key} />
    </Page>
  );
}
