// A dataset with a schedule: its calendar, what it needs and what needs it, how it was declared.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { State } from "../../parts/state.tsx";
import { Subscribe } from "../../parts/subscribe.tsx";
import { Calendar } from "./calendar.tsx";

const route = getRouteApi("/schedules/$entity");

export function EntityPage() {
  const { entity } = route.useParams();
  const { asOf } = route.useSearch();
  const one = useAsk("/api/v2/entities/{name}", { path: { name: entity }, query: { as_of: asOf } });
  // Messages are of the dataset that holds the parts.
  const home = one.data?.entity.homes[0];
  return (
    <Page
      title={entity}
      mark={<i className="kind dataset" role="img" aria-label="dataset with a schedule" />}
      beside={
        home && (
          <span className="head-actions">
            <Subscribe id={home.dataset} />
          </span>
        )
      }
      lede="A dataset that is made part by part, each part with a state."
    >
      {!one.error && <Calendar entity={entity} />}
      <Answered of={one}>
        {({ entity: view, needs, needed_by, declared }) => (
          <div className="columns-2">
            <div>
              <Section title="Facts">
                <Facts
                  facts={[
                    ["Period", view.period],
                    ["Latest", view.latest],
                    ["Wrong", view.wrong > 0 && <State key="w" state="wrong" word={String(view.wrong)} />],
                    ["States", view.states.join(", ")],
                    ["Owners", view.owners.length > 0 && view.owners.join(", ")],
                    ["Made by", view.produced_by.length > 0 && view.produced_by.map((one) => one.job).join(", ")],
                    [
                      "Stored in",
                      view.homes.length > 0 && view.homes.map(({ dataset }) => <NodeLink key={dataset} id={dataset} />),
                    ],
                    ...Object.entries(view.tags).map(([key, values]) => [key, values.join(", ")] as const),
                  ]}
                />
              </Section>
              <Section title="Declared">
                <pre className="code" tabIndex={0}>
                  {JSON.stringify(declared, null, 2)}
                </pre>
              </Section>
            </div>
            <div>
              <Needs title="Needs" links={needs} of="upstream" />
              <Needs title="Is needed by" links={needed_by} of="downstream" />
            </div>
          </div>
        )}
      </Answered>
    </Page>
  );
}

function Needs({
  title,
  links,
  of,
}: {
  title: string;
  links: readonly { upstream: string; downstream: string; dates: string }[];
  of: "upstream" | "downstream";
}) {
  return (
    <Section title={title}>
      {links.length === 0 && <p className="soft">Nothing.</p>}
      <ul className="list">
        {links.map((link) => (
          <li key={`${link.upstream} ${link.downstream}`}>
            <Link className="mono" to="/schedules/$entity" params={{ entity: link[of] }}>
              {link[of]}
            </Link>
            <small className="soft">{link.dates}</small>
          </li>
        ))}
      </ul>
    </Section>
  );
}
