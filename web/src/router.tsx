// The paths of the page. Each page is loaded when it is first opened; its state is in the address and nowhere else.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from "@tanstack/react-router";
import { basePath } from "./embedded.ts";
import { Shell } from "./frame/shell.tsx";
import { Message, Trouble } from "./parts/message.tsx";
import { Waiting } from "./parts/waiting.tsx";
import { askListAhead } from "./pages/catalogue/questions.ts";
import { fromPath, toPath } from "./path-names.ts";
import * as search from "./search-params.ts";

const rootRoute = createRootRoute({
  component: Shell,
  validateSearch: search.everywhere,
  // What is true of the whole page stays in the address wherever a link leads.
  search: { middlewares: [retainSearchParams(["asOf", "theme", "zone"])] },
  notFoundComponent: () => (
    <main className="stage">
      <Message title="There is no such page">
        <p>
          The address does not belong to Headwater. <a href="./">Go to the start.</a>
        </p>
      </Message>
    </main>
  ),
});
const under = () => rootRoute;

/** Names of the outside as parameters of a path; `Tab` where the path ends with one. */
const names = <K extends string, Tab extends { tab?: string } = Record<never, never>>(...keys: K[]) => {
  type Params = Record<K, string> & Tab;
  const each = (change: (name: string) => string) => (params: Record<string, string | undefined>) =>
    ({ ...params, ...Object.fromEntries(keys.map((key) => [key, change(params[key] ?? "")])) }) as Params;
  return { parse: each(fromPath), stringify: each(toPath) as (params: Params) => Params };
};
const named = names<"id", { tab?: string }>("id");

const home = createRoute({
  getParentRoute: under,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/home/home-page.tsx"), "HomePage"),
});
const catalogue = createRoute({
  getParentRoute: under,
  path: "/catalogue/$kind",
  validateSearch: search.catalogue,
  loaderDeps: ({ search: list }) => list,
  loader: ({ params, deps }) => askListAhead(params.kind, deps),
  component: lazyRouteComponent(() => import("./pages/catalogue/catalogue-page.tsx"), "CataloguePage"),
});
const lineageStart = createRoute({
  getParentRoute: under,
  path: "/lineage",
  component: lazyRouteComponent(() => import("./pages/lineage/choose-node.tsx"), "ChooseNode"),
});
const lineage = createRoute({
  getParentRoute: under,
  path: "/lineage/$node",
  params: names("node"),
  validateSearch: search.lineage,
  component: lazyRouteComponent(() => import("./pages/lineage/lineage-page.tsx"), "LineagePage"),
});
const dataset = createRoute({
  getParentRoute: under,
  path: "/datasets/$id/{-$tab}",
  params: named,
  validateSearch: search.dataset,
  component: lazyRouteComponent(() => import("./pages/dataset/dataset-page.tsx"), "DatasetPage"),
});
const column = createRoute({
  getParentRoute: under,
  path: "/columns/$id/$column",
  params: names("id", "column"),
  component: lazyRouteComponent(() => import("./pages/column/column-page.tsx"), "ColumnPage"),
});
const job = createRoute({
  getParentRoute: under,
  path: "/jobs/$id/{-$tab}",
  params: named,
  component: lazyRouteComponent(() => import("./pages/job/job-page.tsx"), "JobPage"),
});
const run = createRoute({
  getParentRoute: under,
  path: "/runs/$id/{-$tab}",
  params: named,
  validateSearch: search.run,
  component: lazyRouteComponent(() => import("./pages/run/run-page.tsx"), "RunPage"),
});
const entity = createRoute({
  getParentRoute: under,
  path: "/schedules/$entity",
  params: names("entity"),
  validateSearch: search.entity,
  component: lazyRouteComponent(() => import("./pages/entity/entity-page.tsx"), "EntityPage"),
});
const incidents = createRoute({
  getParentRoute: under,
  path: "/incidents",
  validateSearch: search.incidents,
  component: lazyRouteComponent(() => import("./pages/incidents/incidents-page.tsx"), "IncidentsPage"),
});
const incident = createRoute({
  getParentRoute: under,
  path: "/incidents/$id",
  params: names("id"),
  validateSearch: search.unfolded,
  component: lazyRouteComponent(() => import("./pages/incidents/incident-page.tsx"), "IncidentPage"),
});
const alerts = createRoute({
  getParentRoute: under,
  path: "/alerting/{-$tab}",
  component: lazyRouteComponent(() => import("./pages/alerts/alerts-page.tsx"), "AlertsPage"),
});
const alert = createRoute({
  getParentRoute: under,
  path: "/alerts/$id",
  component: lazyRouteComponent(() => import("./pages/alerts/alert-page.tsx"), "AlertPage"),
});
const status = createRoute({
  getParentRoute: under,
  path: "/status",
  component: lazyRouteComponent(() => import("./pages/alerts/status-banner.tsx"), "StatusBanner"),
});
const group = createRoute({
  getParentRoute: under,
  path: "/groups/$key/$name",
  params: names("key", "name"),
  validateSearch: search.unfolded,
  component: lazyRouteComponent(() => import("./pages/group/group-page.tsx"), "GroupPage"),
});
const plans = createRoute({
  getParentRoute: under,
  path: "/plans",
  component: lazyRouteComponent(() => import("./pages/plans/plans-page.tsx"), "PlansPage"),
});
const plan = createRoute({
  getParentRoute: under,
  path: "/plans/$id",
  component: lazyRouteComponent(() => import("./pages/plans/plan-page.tsx"), "PlanPage"),
});
const changes = createRoute({
  getParentRoute: under,
  path: "/changes/{-$tab}",
  validateSearch: search.changes,
  component: lazyRouteComponent(() => import("./pages/changes/changes-page.tsx"), "ChangesPage"),
});
const usage = createRoute({
  getParentRoute: under,
  path: "/usage/{-$tab}",
  validateSearch: search.usage,
  component: lazyRouteComponent(() => import("./pages/usage/usage-page.tsx"), "UsagePage"),
});
const whatif = createRoute({
  getParentRoute: under,
  path: "/whatif",
  validateSearch: search.whatif,
  component: lazyRouteComponent(() => import("./pages/whatif/whatif-page.tsx"), "WhatIfPage"),
});
const review = createRoute({
  getParentRoute: under,
  path: "/review",
  validateSearch: search.review,
  component: lazyRouteComponent(() => import("./pages/review/review-page.tsx"), "ReviewPage"),
});
const trace = createRoute({
  getParentRoute: under,
  path: "/trace",
  validateSearch: search.trace,
  component: lazyRouteComponent(() => import("./pages/trace/trace-page.tsx"), "TracePage"),
});
const privacy = createRoute({
  getParentRoute: under,
  path: "/privacy",
  validateSearch: search.privacy,
  component: lazyRouteComponent(() => import("./pages/privacy/privacy-page.tsx"), "PrivacyPage"),
});
const events = createRoute({
  getParentRoute: under,
  path: "/events/{-$tab}",
  validateSearch: search.events,
  component: lazyRouteComponent(() => import("./pages/events/events-page.tsx"), "EventsPage"),
});
const receipt = createRoute({
  getParentRoute: under,
  path: "/receipts/$digest",
  component: lazyRouteComponent(() => import("./pages/events/receipt-page.tsx"), "ReceiptPage"),
});
const settings = createRoute({
  getParentRoute: under,
  path: "/settings/{-$tab}",
  validateSearch: search.settings,
  component: lazyRouteComponent(() => import("./pages/settings/settings-page.tsx"), "SettingsPage"),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    home,
    catalogue,
    lineageStart,
    lineage,
    dataset,
    column,
    job,
    run,
    entity,
    incidents,
    incident,
    alerts,
    alert,
    status,
    group,
    plans,
    plan,
    changes,
    usage,
    whatif,
    review,
    trace,
    privacy,
    events,
    receipt,
    settings,
  ]),
  basepath: typeof document === "undefined" ? "/" : basePath(),
  parseSearch: search.parse,
  stringifySearch: search.stringify,
  defaultPendingComponent: () => (
    <main className="page">
      <Waiting />
    </main>
  ),
  defaultPendingMs: 300,
  defaultErrorComponent: ({ error, reset }) => (
    <main className="stage">
      <Trouble error={error} retry={reset} />
    </main>
  ),
  defaultPreload: "intent",
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
