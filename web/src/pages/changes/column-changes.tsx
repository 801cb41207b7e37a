// Datasets whose columns changed: added, removed, of another type, in another order.
import { useMemo } from "react";
import type { Answer } from "../../api/client.ts";
import { distinguish } from "../../names.ts";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Table } from "../../parts/table.tsx";
import { pageOf } from "./changed-rows.ts";
import type { ChangesTabProps } from "./changes-page.tsx";

type SchemaChange = Answer<"/api/v2/lineage/diff">["schemas"][number];

interface Props extends ChangesTabProps {
  schemas: readonly SchemaChange[];
}

const inWords = (one: SchemaChange) =>
  [
    ...one.added.map((field) => `+ ${field.name} ${field.type ?? ""}`.trim()),
    ...one.removed.map((field) => `− ${field.name} ${field.type ?? ""}`.trim()),
    ...one.retyped.map((field) => `~ ${field.name}: ${field.type_before} → ${field.type_after}`),
    ...(one.reordered ? ["~ the order of columns"] : []),
  ].join("; ");

export function ColumnChanges({ schemas, search, change }: Props) {
  const names = useMemo(() => distinguish(schemas.map(({ dataset }) => ({ id: dataset }))), [schemas]);
  return (
    <Table
      label="Datasets whose columns changed"
      rows={pageOf(schemas, search.page)}
      keyOf={(row) => row.dataset}
      total={schemas.length}
      state={search}
      onState={change}
      all={() => Promise.resolve(schemas)}
      columns={[
        {
          id: "dataset",
          header: "Dataset",
          value: (row) => row.dataset,
          cell: (row) => <NodeLink id={row.dataset} label={names.get(row.dataset)} tab="schema" />,
        },
        { id: "columns", header: "Columns", wide: true, value: inWords, cell: (row) => <Fields of={row} /> },
      ]}
      empty={<Empty title="No dataset changed its columns">Choose an earlier time to compare with.</Empty>}
    />
  );
}

function Fields({ of: one }: { of: SchemaChange }) {
  return (
    <ul className="diff">
      {one.added.map((field) => (
        <li key={`+${field.name}`} className="added">
          + {field.name} <span className="soft">{field.type}</span>
        </li>
      ))}
      {one.removed.map((field) => (
        <li key={`-${field.name}`} className="gone">
          − {field.name} <span className="soft">{field.type}</span>
        </li>
      ))}
      {one.retyped.map((field) => (
        <li key={`~${field.name}`} className="changed">
          ~ {field.name}: {field.type_before} → {field.type_after}
        </li>
      ))}
      {one.reordered && <li className="changed">~ the order of columns</li>}
    </ul>
  );
}
