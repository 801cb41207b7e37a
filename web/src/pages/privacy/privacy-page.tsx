// Where values with a tag are, how they got there, how well they are hidden, and who reads them.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { count, plural } from "../../format.ts";
import { bareName, distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command, Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Deletion } from "./deletion.tsx";
import { Policies } from "./policies.tsx";
import { When } from "../../parts/when.tsx";

type Found = Answer<"/api/v2/privacy/where">;
type Carrying = Found["columns"][number];

const route = getRouteApi("/privacy");
/** What is looked for at first. */
const USUAL = "pii";

export function PrivacyPage() {
  const { tag = USUAL } = route.useSearch();
  const navigate = useNavigate();
  const where = useAsk("/api/v2/privacy/where", { query: { tag } });
  const tags = useAsk("/api/v2/datasets", { query: { facets: true, limit: 0 } });
  const choose = (next: string) =>
    void navigate({ to: "/privacy", search: { tag: next === USUAL ? undefined : next } });
  return (
    <Page
      title="Privacy"
      lede="Every column that carries a tag, by column lineage from where it was tagged; how well its values are hidden there; and the jobs, dashboards and people that read it."
    >
      <form
        className="choices"
        onSubmit={(event) => {
          event.preventDefault();
          const next = (new FormData(event.currentTarget).get("tag") as string).trim();
          if (next) choose(next);
        }}
      >
        <label>
          Tag <input key={tag} name="tag" defaultValue={tag} list="known-tags" className="narrow" />
        </label>
        <datalist id="known-tags">
          {Object.keys(tags.data?.facets?.tag ?? {}).map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <button type="submit" className="button">
          Look
        </button>
        {Object.keys(tags.data?.facets?.tag ?? {})
          .slice(0, 8)
          .map((one) => (
            <button type="button" key={one} className="choice" aria-pressed={one === tag} onClick={() => choose(one)}>
              {one}
            </button>
          ))}
      </form>
      <Answered of={where} lines={8}>
        {(found) =>
          found.columns.length === 0 ? (
            <Empty title={`No column carries ${found.tag}`} command={`headwater tag DATASET.COLUMN ${found.tag}`}>
              Tags come from events, or from people: on a column&apos;s page, or by this command.
            </Empty>
          ) : (
            <Places found={found} />
          )
        }
      </Answered>
      <Policies />
      <Deletion />
    </Page>
  );
}

function Places({ found }: { found: Found }) {
  const plain = found.columns.filter((one) => one.now === "plain" && !one.tagged).length;
  return (
    <>
      {found.hidden > 0 && (
        <p className="notice-line">
          {plural(found.hidden, "dataset")} past the limit of 5,000: their readers were not looked at.
        </p>
      )}
      <Facts
        facts={[
          ["Datasets", count(found.datasets.length)],
          ["Columns", `${count(found.columns.length)}, ${count(plain)} of them plain copies`],
          [
            "Read by",
            `${plural(found.jobs.length, "job")}, ${plural(found.dashboards.length, "dashboard")}, ${plural(found.readers.length, "actor")} of the query log`,
          ],
        ]}
      />
      <Section title="Columns">
        <Columns columns={found.columns} />
      </Section>
      <Section title="Datasets, and whom to ask">
        <Table
          label="Datasets"
          rows={found.datasets}
          keyOf={(one) => one.dataset}
          columns={[
            {
              id: "dataset",
              header: "Dataset",
              wide: true,
              value: (one) => one.dataset,
              cell: (one) => <NodeLink id={one.dataset} />,
            },
            {
              id: "columns",
              header: "Columns",
              number: true,
              value: (one) => one.columns,
              cell: (one) => count(one.columns),
            },
            {
              id: "owners",
              header: "Owners and teams",
              value: (one) => [...one.owners, ...one.teams].join(" "),
              cell: (one) =>
                [...one.owners, ...one.teams.map((team) => `team ${team}`)].join(", ") || (
                  <span className="soft">no owner is named</span>
                ),
            },
            {
              id: "draw",
              header: "Where it flows",
              minor: true,
              cell: (one) => (
                <Link
                  to="/lineage/$node"
                  params={{ node: one.dataset }}
                  search={{ direction: "downstream", lens: "pii", columns: true }}
                >
                  Draw it
                </Link>
              ),
            },
          ]}
          empty={null}
        />
      </Section>
      <Section title="Read by">
        <Table
          label="Readers"
          rows={readersOf(found)}
          keyOf={(one) => one.key}
          columns={[
            {
              id: "reader",
              header: "Reader",
              wide: true,
              value: (one) => one.name,
              cell: (one) => (one.id ? <NodeLink id={one.id} label={one.name} /> : one.name),
            },
            { id: "kind", header: "Kind", value: (one) => one.kind, cell: (one) => one.kind },
            {
              id: "columns",
              header: "Columns",
              value: (one) => one.columns.join(" "),
              cell: (one) => <span className="name">{one.columns.join(", ") || <span className="soft">–</span>}</span>,
            },
            {
              id: "often",
              header: "Executions",
              number: true,
              minor: true,
              value: (one) => one.executions,
              cell: (one) => count(one.executions),
            },
            { id: "last", header: "Last", value: (one) => one.last, cell: (one) => <When at={one.last} /> },
          ]}
          empty={<p className="soft">No job, dashboard or actor is known to read these columns.</p>}
        />
      </Section>
      <p className="soft">
        Rules about such columns are checked by <Command text="headwater privacy check policies.yaml" />
      </p>
    </>
  );
}

const HIDING: Record<string, string> = {
  plain: "plain",
  aggregated: "only aggregated",
  masked: "masked",
};

function Columns({ columns }: { columns: readonly Carrying[] }) {
  const names = distinguish(columns.flatMap((one) => [one.dataset, ...one.path.map(nodeOf)]).map((id) => ({ id })));
  const list: Column<Carrying>[] = [
    {
      id: "column",
      header: "Column",
      wide: true,
      value: (one) => `${one.dataset}#${one.column ?? ""}`,
      cell: (one) =>
        one.column === null ? (
          <span className="node-row">
            <NodeLink id={one.dataset} label={names.get(one.dataset)} /> <span className="soft">any column</span>
          </span>
        ) : (
          <Link
            className="name mono"
            to="/columns/$id/$column"
            params={{ id: bareName(one.dataset), column: one.column }}
            title={`${one.dataset}, column ${one.column}`}
          >
            {names.get(one.dataset)}.{one.column}
          </Link>
        ),
    },
    {
      id: "handling",
      header: "Values are",
      value: (one) => one.now ?? `${one.handling} before`,
      cell: (one) =>
        one.now !== null ? (
          <>
            {HIDING[one.now] ?? one.now}
            {one.now !== one.handling && <small className="soft"> {HIDING[one.handling] ?? one.handling} before</small>}
          </>
        ) : (
          <>
            {HIDING[one.handling] ?? one.handling} <small className="soft">by jobs of the past</small>
          </>
        ),
    },
    {
      id: "way",
      header: "From where it was tagged",
      value: (one) => one.path.join(" "),
      cell: (one) =>
        one.tagged ? (
          <span className="tag">tagged here</span>
        ) : (
          <span className="way">
            {one.path.map((step) => wordOf(step, names)).join(" → ")}
            {!one.certain && <span className="soft"> (a job of the way reports no columns)</span>}
          </span>
        ),
    },
  ];
  return (
    <Table
      label="Columns that carry it"
      rows={columns}
      keyOf={(one) => `${one.dataset}#${one.column ?? ""}`}
      columns={list}
      empty={null}
    />
  );
}

const nodeOf = (step: string) => (step.startsWith("job:") ? step : step.replace(/#[^#]*$/, ""));

function wordOf(step: string, names: ReadonlyMap<string, string>): string {
  const node = nodeOf(step);
  const field = step.slice(node.length + 1);
  return `${names.get(node) ?? bareName(node)}${field && `.${field}`}`;
}

interface ReaderRow {
  key: string;
  id: string | null;
  name: string;
  kind: string;
  columns: readonly string[];
  executions: number | null;
  last: string | null;
}

/** Jobs, dashboards and actors in one list: all of them read. */
function readersOf({ jobs, dashboards, readers }: Found): ReaderRow[] {
  return [
    ...dashboards.map((one) => ({
      key: one.id,
      id: one.id,
      name: one.name ?? bareName(one.id),
      kind: "dashboard",
      columns: one.columns,
      executions: null,
      last: null,
    })),
    ...readers.map((one) => ({
      key: `actor ${one.actor}`,
      id: null,
      name: one.actor,
      kind: one.kind,
      columns: [],
      executions: one.executions,
      last: one.last_at,
    })),
    ...jobs.map((one) => ({
      key: one.id,
      id: one.id,
      name: one.label,
      kind: one.certain ? "job" : "job, perhaps",
      columns: one.columns,
      executions: one.executions,
      last: one.last_at,
    })),
  ];
}
