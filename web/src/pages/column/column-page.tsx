// One column: where it comes from, every use of it, how it was transformed, and the people and jobs that are hit by a change.
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useAsk, useDataset, useReference } from "../../api/queries.ts";
import type { LineageAnswer } from "../../api/types.ts";
import { plural } from "../../format.ts";
import { bareName, distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Copy } from "../../parts/copy.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { ObjectChanges } from "../../parts/object-changes.tsx";
import { Facts, Page, Section, Tags } from "../../parts/page.tsx";
import { Table } from "../../parts/table.tsx";
import { columnSteps, type ColumnStep } from "./column-steps.ts";

const route = getRouteApi("/columns/$id/$column");

export function ColumnPage() {
  const { id: bare, column } = route.useParams();
  const { asOf } = route.useSearch();
  const id = `dataset:${bare}`;
  const reference = useReference(id);
  const dataset = useDataset(reference.data, asOf ?? null);
  const lineage = useAsk("/api/v2/lineage", {
    query: { node: id, depth: 100, columns: true, field: column, as_of: asOf },
  });
  const field = dataset.data?.fields.find((one) => one.name === column);
  const name = dataset.data ? (distinguish([dataset.data]).get(id) ?? bare) : bare;
  return (
    <Page
      title={`${name}.${column}`}
      mark={<i className="kind column" role="img" aria-label="column" />}
      beside={
        <span className="head-actions">
          <Copy text={`${bareName(id)}.${column}`} what="the name" />
          <Link
            className="button"
            to="/lineage/$node"
            params={{ node: id }}
            search={{ columns: true, field: column, selected: id, depth: 10 }}
          >
            In the graph
          </Link>
          <Link className="button quiet" to="/whatif" search={{ of: `${id}.${column}` }}>
            What if
          </Link>
        </span>
      }
      lede={<NodeLink id={id} label={bare} />}
    >
      {field && (
        <Section title="Facts">
          <Facts
            facts={[
              ["Type", field.type && <span className="mono">{field.type}</span>],
              ["Description", field.description],
              ["Tags", field.tags.length > 0 && <Tags tags={field.tags} />],
            ]}
          />
        </Section>
      )}
      {!lineage.error && <ColumnLog node={id} column={column} asOf={asOf ?? null} />}
      <Answered of={lineage} lines={8}>
        {(answer) => <Uses answer={answer} id={id} column={column} />}
      </Answered>
    </Page>
  );
}

/** Who made it what it is, and each change before that. A column without any is not worth a heading. */
function ColumnLog({ node, column, asOf }: { node: string; column: string; asOf: string | null }) {
  const log = useAsk("/api/v2/object-log", { query: { node, column, as_of: asOf } });
  return (
    <Answered of={log} lines={2}>
      {({ changes, total }) =>
        total > 0 && (
          <Section title="Changed" beside={plural(total, "change")}>
            <ObjectChanges file={`${column} log`} changes={changes} />
            {total > changes.length && (
              <p className="soft">
                <Link
                  to="/datasets/$id/{-$tab}"
                  params={{ id: bareName(node), tab: "log" }}
                  search={{ column }}
                >{`${plural(total - changes.length, "older change")}`}</Link>
              </p>
            )}
          </Section>
        )
      }
    </Answered>
  );
}

function Uses({ answer, id, column }: { answer: Pick<LineageAnswer, "column_edges">; id: string; column: string }) {
  const { upstream, downstream } = useMemo(
    () => columnSteps(answer, { node: id, field: column }),
    [answer, id, column],
  );
  const jobs = new Set(downstream.map((step) => step.job));
  const datasets = new Set(downstream.map((step) => step.target));
  return (
    <>
      <Section
        title="Comes from"
        beside={plural(new Set(upstream.map((step) => `${step.source} ${step.sourceField}`)).size, "column")}
      >
        <Steps steps={upstream} end="source" none="Its origin is not known: no column lineage leads to it." />
      </Section>
      <Section
        title="Is used by"
        beside={`${plural(datasets.size, "dataset")}, ${plural(jobs.size, "job")} to warn before a change`}
      >
        <Steps steps={downstream} end="target" none="No use of it is known." />
      </Section>
    </>
  );
}

function Steps({ steps, end, none }: { steps: readonly ColumnStep[]; end: "source" | "target"; none: string }) {
  const names = distinguish(steps.flatMap((step) => [{ id: step.source }, { id: step.target }, { id: step.job }]));
  return (
    <Table
      label={end === "source" ? "Comes from" : "Is used by"}
      rows={steps}
      keyOf={(step) => `${step.source} ${step.sourceField} ${step.target} ${step.targetField} ${step.job}`}
      columns={[
        { id: "far", header: "Steps", number: true, value: (step) => step.distance, cell: (step) => step.distance },
        {
          id: "column",
          header: "Column",
          wide: true,
          value: (step) => `${step[end]} ${end === "source" ? step.sourceField : step.targetField}`,
          cell: (step) => (
            <ColumnLink names={names} node={step[end]} field={end === "source" ? step.sourceField : step.targetField} />
          ),
        },
        { id: "how", header: "How", value: (step) => step.how, cell: (step) => step.how },
        {
          id: "via",
          header: end === "source" ? "Into" : "From",
          minor: true,
          value: (step) => (end === "source" ? step.target : step.source),
          cell: (step) => (
            <ColumnLink
              names={names}
              node={end === "source" ? step.target : step.source}
              field={end === "source" ? step.targetField : step.sourceField}
            />
          ),
        },
        {
          id: "job",
          header: "Job",
          minor: true,
          value: (step) => step.job,
          cell: (step) => <NodeLink id={step.job} label={names.get(step.job)} />,
        },
      ]}
      empty={<p className="soft">{none}</p>}
    />
  );
}

interface EndProps {
  node: string;
  field: string | null;
  names: ReadonlyMap<string, string>;
}

function ColumnLink({ node, field, names }: EndProps) {
  const label = names.get(node);
  if (field === null || !node.startsWith("dataset:")) return <NodeLink id={node} label={label} />;
  return (
    <Link
      className="mono name"
      title={`${node} ${field}`}
      to="/columns/$id/$column"
      params={{ id: bareName(node), column: field }}
    >
      {label}.{field}
    </Link>
  );
}
