// A team or a product: what needs it now, what it has, how fresh that is and what it costs, and with whom it exchanges data.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { useTroubles } from "../../api/troubles.ts";
import { count, money, plural } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { SlaWeeks } from "../../parts/sla-weeks.tsx";
import { State } from "../../parts/state.tsx";
import { Subscribe } from "../../parts/subscribe.tsx";
import { Table } from "../../parts/table.tsx";
import { toggled, TreeName } from "../../parts/tree-name.tsx";
import { foldWithin } from "../../parts/tree-rows.ts";
import { When } from "../../parts/when.tsx";
import { IncidentLine } from "../incidents/incident-line.tsx";
import { Trouble } from "../incidents/trouble.tsx";
import { NeighbourGraph } from "./neighbour-graph.tsx";

export type Group = Answer<"/api/v2/groups">;

const NONE: readonly string[] = [];
const route = getRouteApi("/groups/$key/$name");

/** What rules and subscriptions write for all with this tag. */
const selectorOf = (word: string, name: string) =>
  word === "team" || word === "product" ? `${word}:${name}` : `tag:${word}:${name}`;

export function GroupPage() {
  const { key, name } = route.useParams();
  const group = useAsk("/api/v2/groups", { query: { tag: `${key}:${name}` } }, { every: 60_000 });
  return (
    <Page
      title={name}
      mark={<span className="soft">{key}</span>}
      beside={
        <span className="head-actions">
          <Subscribe id={selectorOf(key, name)} />
        </span>
      }
      lede={
        <>
          Everything with the tag{" "}
          <Link to="/catalogue/$kind" params={{ kind: "datasets" }} search={{ tag: `${key}:${name}` }}>
            {key}:{name}
          </Link>
        </>
      }
    >
      <Answered of={group} lines={8}>
        {(answer) => <Body group={answer} word={key} name={name} />}
      </Answered>
    </Page>
  );
}

function Body({ group, word, name }: { group: Group; word: string; name: string }) {
  const { incidents, freshness, upstream, downstream } = group;
  return (
    <>
      <Facts
        facts={[
          ["Has", `${plural(group.total_datasets, "dataset")}, ${plural(group.total_jobs, "job")}`],
          [
            "Freshness",
            Object.keys(freshness).length > 0 && (
              <span className="chips" key="f">
                {Object.entries(freshness).map(([state, n]) => (
                  <span key={state}>
                    <State state={state} /> {count(n)}
                  </span>
                ))}
              </span>
            ),
          ],
          ["Cost by the query log", group.money === null ? "not measured" : money(group.money)],
        ]}
      />
      <Section title="Needs it now" beside={incidents.length > 0 && plural(incidents.length, "open incident")}>
        {incidents.length === 0 ? (
          <p className="calm">Nothing of it is wrong, doubted, late or silent, and no run of it failed.</p>
        ) : (
          <ul className="incident-list">
            {incidents.map((incident) => (
              <IncidentLine key={`${incident.kind} ${incident.id}`} incident={incident} />
            ))}
          </ul>
        )}
      </Section>
      <SlaWeeks of={selectorOf(word, name)} />
      <Section title={`Between ${word}s`}>
        {upstream.length + downstream.length === 0 ? (
          <p className="soft">No data comes from another {word}, and none goes to one.</p>
        ) : (
          <>
            <NeighbourGraph group={group} word={word} name={name} />
            <div className="lists">
              <Neighbours title="Reads from" word={word} groups={upstream} />
              <Neighbours title="Is read by" word={word} groups={downstream} />
            </div>
          </>
        )}
      </Section>
      <Owned title="Datasets" noun="dataset" rows={group.datasets} total={group.total_datasets} />
      <Owned title="Jobs" noun="job" rows={group.jobs} total={group.total_jobs} />
    </>
  );
}

function Neighbours({ title, word, groups }: { title: string; word: string; groups: Group["upstream"] }) {
  if (groups.length === 0) return null;
  return (
    <Section title={title}>
      <ul className="list">
        {groups.map((one) => (
          <li key={one.value}>
            {one.value === "(none)" ? (
              <span className="soft">datasets of no {word}</span>
            ) : (
              <Link to="/groups/$key/$name" params={{ key: word, name: one.value }}>
                {one.value}
              </Link>
            )}
            <small className="soft">
              {one.datasets.map((id) => distinguish([{ id }]).get(id)).join(", ")}
              {one.count > one.datasets.length && ` and ${count(one.count - one.datasets.length)} more`}
            </small>
          </li>
        ))}
      </ul>
    </Section>
  );
}

interface OwnedProps {
  title: string;
  noun: "dataset" | "job";
  rows: Group["datasets"];
  total: number;
}

/** Packages and DAGs stand for those of their jobs that carry the tag as well. */
function Owned({ title, noun, rows, total }: OwnedProps) {
  const troubles = useTroubles();
  const navigate = useNavigate();
  const { open = NONE } = route.useSearch();
  const shown = useMemo(
    () => foldWithin(rows, (row) => (row.type === "JOB" ? row.parent : null), new Set(open)),
    [rows, open],
  );
  if (total === 0) return null;
  const names = distinguish(rows);
  const toggle = (id: string) =>
    void navigate({ to: ".", search: (now) => ({ ...now, open: toggled(open, id) }) as never, replace: true });
  return (
    <Section title={title} beside={total > rows.length && `the first ${count(rows.length)} of ${count(total)}`}>
      <Table
        label={title}
        rows={shown}
        keyOf={(row) => row.item.id}
        pageSize={50}
        columns={[
          {
            id: "name",
            header: "Name",
            wide: true,
            value: (row) => row.item.name,
            cell: (row) => (
              <TreeName row={row} noun={noun} name={names.get(row.item.id) ?? row.item.name} toggle={toggle}>
                <NodeLink id={row.item.id} label={names.get(row.item.id)} />
              </TreeName>
            ),
          },
          {
            id: "now",
            header: "Now",
            value: (row) => troubles.get(row.item.id)?.kind ?? null,
            cell: (row) => <Trouble of={row.item.id} among={troubles} />,
          },
          {
            id: "owners",
            header: "Owners",
            value: (row) => (row.item.owner_names ?? []).join(" "),
            cell: (row) => (row.item.owner_names ?? []).join(", ") || <span className="soft">no owner is named</span>,
          },
          {
            id: "updated",
            header: "Last event",
            number: true,
            minor: true,
            value: (row) => row.item.updated_at,
            cell: (row) => <When at={row.item.updated_at} />,
          },
        ]}
        empty={null}
      />
    </Section>
  );
}
