// The columns, and how they came to be: each schema since the first, with what changed.
import { Link } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import type { Field } from "../../api/types.ts";
import { plural } from "../../format.ts";
import { bareName } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { RunLink } from "../../parts/node-link.tsx";
import { Section, Tags } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import type { TabProps } from "./tab-props.ts";

export function SchemaTab({ dataset, reference }: TabProps) {
  const history = useAsk("/api/v2/datasets/{namespace}/{name}/schema-history", { path: reference });
  const columns: Column<Field>[] = [
    {
      id: "name",
      header: "Column",
      wide: true,
      value: (field) => field.name,
      cell: (field) => (
        <Link className="mono" to="/columns/$id/$column" params={{ id: bareName(dataset.id), column: field.name }}>
          {field.name}
        </Link>
      ),
    },
    {
      id: "type",
      header: "Type",
      value: (field) => field.type,
      cell: (field) => <span className="mono soft">{field.type}</span>,
    },
    { id: "tags", header: "Tags", value: (field) => field.tags.join(" "), cell: (field) => <Tags tags={field.tags} /> },
    {
      id: "description",
      header: "Description",
      value: (field) => field.description,
      cell: (field) => field.description,
    },
  ];
  return (
    <>
      <Section title="Columns" beside={plural(dataset.fields.length, "column")}>
        <Table
          label="Columns"
          columns={columns}
          rows={dataset.fields}
          keyOf={(field) => field.name}
          file={`${dataset.label} columns`}
          empty={<p className="soft">No schema was reported for this dataset.</p>}
        />
      </Section>
      <Section title="History">
        <Answered of={history}>
          {({ schemas, truncated }) => (
            <ol className="timeline">
              {schemas.map((schema, i) => (
                <li key={`${schema.first_at} ${i}`}>
                  <When at={schema.first_at} full />
                  <span>
                    {plural(schema.fields.length, "column")}
                    {schema.versions > 0 && `, ${plural(schema.versions, "version")}`}
                    {schema.run && (
                      <>
                        , by <RunLink id={schema.run.run_id} />
                      </>
                    )}
                  </span>
                  {schema.changes ? (
                    <SchemaDiff diff={schema.changes} />
                  ) : (
                    <span className="soft">the first known</span>
                  )}
                </li>
              ))}
              {truncated && <li className="soft">Earlier ones are not listed.</li>}
            </ol>
          )}
        </Answered>
      </Section>
    </>
  );
}

type Diff = NonNullable<Answer<"/api/v2/datasets/{namespace}/{name}/schema-history">["schemas"][number]["changes"]>;

export function SchemaDiff({ diff }: { diff: Diff }) {
  if (diff.same) return <span className="soft">the same columns</span>;
  return (
    <ul className="diff">
      {diff.added.map((field) => (
        <li key={`+${field.name}`} className="added">
          + {field.name} <span className="soft">{field.type}</span>
        </li>
      ))}
      {diff.removed.map((field) => (
        <li key={`-${field.name}`} className="gone">
          − {field.name} <span className="soft">{field.type}</span>
        </li>
      ))}
      {diff.retyped.map((field) => (
        <li key={`~${field.column}`} className="changed">
          ~ {field.column}: {field.before ?? "no type"} → {field.after ?? "no type"}
        </li>
      ))}
      {diff.redescribed.map((field) => (
        <li key={`d${field.column}`} className="changed">
          ~ {field.column}: the description
        </li>
      ))}
      {diff.moved.map((field) => (
        <li key={`m${field.column}`} className="changed">
          ~ {field.column}: place {field.before + 1} → {field.after + 1}
        </li>
      ))}
    </ul>
  );
}
