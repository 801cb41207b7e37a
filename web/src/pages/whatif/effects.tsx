// The effects of a change, one table for each kind of what it reaches; the worst first, as the server orders them.
import { Link } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { count } from "../../format.ts";
import { bareName, distinguish } from "../../names.ts";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { wordOf } from "./question.ts";

type WhatIf = Answer<"/api/v2/whatif", "post">;
type HitColumn = WhatIf["columns"][number];

const EFFECT: Column<{ severity: string }> = {
  id: "effect",
  header: "Effect",
  value: (row) => wordOf(row.severity),
  cell: (row) => <State state={row.severity} />,
};
const LAST: Column<{ last_at: string | null }> = {
  id: "last",
  header: "Last",
  minor: true,
  value: (row) => row.last_at,
  cell: (row) => <When at={row.last_at} />,
};
const RAN: Column<{ executions: number | null }> = {
  id: "ran",
  header: "Ran",
  number: true,
  value: (row) => row.executions,
  cell: (row) => count(row.executions),
};

export function Effects({ answer }: { answer: WhatIf }) {
  const { jobs, dashboards, columns, entities, people, pipelines, warn } = answer;
  const names = distinguish(
    [...new Set([...jobs.map((job) => job.id), ...columns.flatMap((one) => one.path.map(nodeOf))])].map((id) => ({
      id,
    })),
  );
  return (
    <>
      <Part
        title="Whom to warn"
        rows={warn}
        keyOf={(row) => `${row.role} ${row.who}`}
        columns={[
          { id: "who", header: "Who", value: (row) => row.who, cell: (row) => row.who },
          EFFECT,
          { id: "role", header: "As", value: (row) => row.role, cell: (row) => row.role },
          {
            id: "because",
            header: "Because of",
            wide: true,
            value: (row) => row.because.join(" "),
            cell: (row) => (
              <span className="path">
                {row.because.map((id) => (
                  <NodeLink key={id} id={id} />
                ))}
                {row.more > 0 && ` and ${count(row.more)} more`}
              </span>
            ),
          },
        ]}
      />
      <Part
        title="Jobs and views"
        rows={jobs}
        keyOf={(row) => row.id}
        columns={[
          {
            id: "job",
            header: "Job",
            wide: true,
            value: (row) => row.id,
            cell: (row) => <NodeLink id={row.id} label={names.get(row.id)} />,
          },
          EFFECT,
          {
            id: "why",
            header: "Why",
            value: (row) => `${row.certain ? "" : "perhaps: "}${row.reason}`,
            cell: (row) => `${row.certain ? "" : "perhaps: "}${row.reason}`,
          },
          {
            id: "view",
            header: "View",
            minor: true,
            value: (row) => row.view,
            cell: (row) => (row.view ? <NodeLink id={row.view} /> : "–"),
          },
          RAN,
          LAST,
        ]}
      />
      <Part
        title="Dashboards"
        rows={dashboards}
        keyOf={(row) => row.id}
        columns={[
          {
            id: "dashboard",
            header: "Dashboard",
            wide: true,
            value: (row) => row.name ?? row.id,
            cell: (row) => <NodeLink id={row.id} label={row.name ?? undefined} />,
          },
          EFFECT,
          {
            id: "columns",
            header: "Columns that it uses",
            value: (row) => row.columns.join(" "),
            cell: (row) => <span className="mono">{row.columns.join(", ")}</span>,
          },
          LAST,
        ]}
      />
      <Part
        title="Downstream"
        rows={columns}
        keyOf={(row) => `${row.dataset}#${row.column}`}
        columns={[
          {
            id: "column",
            header: "Column",
            wide: true,
            value: (row) => `${row.dataset}${row.column === null ? "" : `#${row.column}`}`,
            cell: (row) => <Place of={row.dataset} column={row.column} names={names} />,
          },
          EFFECT,
          { id: "kind", header: "How", value: kindOf, cell: kindOf },
          { id: "hops", header: "Steps", number: true, minor: true, value: (row) => row.hops, cell: (row) => row.hops },
          {
            id: "path",
            header: "By way of",
            value: (row) => row.path.join(" → "),
            cell: (row) => <Way path={row.path} names={names} />,
          },
        ]}
      />
      <Part
        title="Schedules"
        rows={entities}
        keyOf={(row) => `${row.entity} ${row.dataset}`}
        columns={[
          {
            id: "entity",
            header: "Schedule",
            wide: true,
            value: (row) => row.entity,
            cell: (row) => (
              <Link to="/schedules/$entity" params={{ entity: row.entity }}>
                {row.entity}
              </Link>
            ),
          },
          EFFECT,
          {
            id: "dataset",
            header: "Stored in",
            value: (row) => row.dataset,
            cell: (row) => <NodeLink id={row.dataset} />,
          },
        ]}
      />
      <Actors title="People who ran what notices" rows={people} />
      <Actors title="Pipelines and services" rows={pipelines} />
    </>
  );
}

function Part<T extends object>({ title, rows, columns, keyOf }: PartProps<T>) {
  if (rows.length === 0) return null;
  return (
    <Section title={title}>
      <Table label={title} file={`what if ${title}`} rows={rows} columns={columns} keyOf={keyOf} empty={null} />
    </Section>
  );
}

interface PartProps<T extends object> {
  title: string;
  rows: readonly T[];
  columns: readonly Column<NoInfer<T>>[];
  keyOf(row: T): string;
}

const Actors = ({ title, rows }: { title: string; rows: WhatIf["people"] }) => (
  <Part
    title={title}
    rows={rows}
    keyOf={(row) => `${row.kind} ${row.actor}`}
    columns={[
      { id: "actor", header: "Who", wide: true, value: (row) => row.actor, cell: (row) => row.actor },
      EFFECT,
      { id: "kind", header: "Kind", value: (row) => row.kind, cell: (row) => row.kind },
      RAN,
      LAST,
    ]}
  />
);

const kindOf = (row: HitColumn) =>
  `${row.kind === "indirect" ? "only a filter, join or order" : row.kind}${row.masked ? ", masked" : ""}`;

/** `path` writes a column as `dataset#column`; a dataset's own name may hold `#` too, but a column's seldom does. */
const nodeOf = (step: string) =>
  step.startsWith("dataset:") && step.includes("#") ? step.slice(0, step.lastIndexOf("#")) : step;

interface Named {
  names: ReadonlyMap<string, string>;
}

function Place({ of, column, names }: { of: string; column: string | null } & Named) {
  if (column === null) return <NodeLink id={of} label={names.get(of)} />;
  return (
    <Link
      className="mono name"
      title={`${of} ${column}`}
      to="/columns/$id/$column"
      params={{ id: bareName(of), column }}
    >
      {names.get(of) ?? of}.{column}
    </Link>
  );
}

/** The steps between the changed column and this one, in order. */
function Way({ path, names }: { path: readonly string[] } & Named) {
  const between = path.slice(1, -1);
  if (between.length === 0) return "–";
  return (
    <span className="path">
      {between.map((step, i) => {
        const node = nodeOf(step);
        return (
          <span key={`${i} ${step}`}>
            {i > 0 && "→ "}
            <NodeLink
              id={node}
              label={`${names.get(node) ?? node}${step === node ? "" : `.${step.slice(node.length + 1)}`}`}
            />
          </span>
        );
      })}
    </span>
  );
}
