// What datasets live in: warehouses, buckets, brokers and file systems, and what reports about them.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import type { components } from "../../api/schema.d.ts";
import { count, duration } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { When } from "../../parts/when.tsx";
import { Connectors } from "./connectors.tsx";
import { useList } from "./use-list.ts";

type Source = components["schemas"]["lineage_sources_Source"];

const COLUMNS: Column<Source>[] = [
  {
    id: "namespace",
    header: "Source",
    wide: true,
    value: (row) => row.namespace,
    cell: (row) => (
      <Link
        className="mono name"
        to="/catalogue/$kind"
        params={{ kind: "datasets" }}
        search={{ namespace: row.namespace }}
        title={row.namespace}
      >
        {row.namespace}
      </Link>
    ),
  },
  { id: "platform", header: "Platform", minor: true, value: (row) => row.platform, cell: (row) => row.platform },
  {
    id: "datasets",
    header: "Datasets",
    number: true,
    value: (row) => row.datasets,
    cell: (row) => count(row.datasets),
  },
  {
    id: "writers",
    header: "Jobs that write",
    number: true,
    minor: true,
    value: (row) => row.writers,
    cell: (row) => count(row.writers),
  },
  {
    id: "readers",
    header: "Jobs that read",
    number: true,
    minor: true,
    value: (row) => row.readers,
    cell: (row) => count(row.readers),
  },
  {
    id: "producers",
    header: "Reported by",
    minor: true,
    value: (row) => row.producers.map((one) => one.producer).join(" "),
    cell: (row) => (
      <ul className="plain-list">
        {row.producers.map((one) => (
          <li key={one.producer} className="name" title={one.producer}>
            {one.producer}, {duration(Math.abs(one.lag_seconds) * 1000)} {one.lag_seconds < 0 ? "ahead" : "behind"}
          </li>
        ))}
      </ul>
    ),
  },
  {
    id: "last",
    header: "Last event",
    number: true,
    value: (row) => row.last_seen,
    cell: (row) => <When at={row.last_seen} />,
  },
];

export function Sources() {
  const { search, change } = useList();
  const page = search.page ?? 1;
  const list = useAsk("/api/v2/sources", { query: { limit: PAGE, offset: (page - 1) * PAGE } }, { keep: true });
  return (
    <>
      <Connectors />
      <Answered of={list} lines={8}>
        {({ total, sources }) => (
          <Table
            label="Sources"
            columns={COLUMNS}
            rows={sources}
            keyOf={(row) => row.namespace}
            total={total}
            state={search}
            onState={change}
            empty={
              <Empty title="No source is known yet">Sources appear with the first events that name a dataset.</Empty>
            }
          />
        )}
      </Answered>
    </>
  );
}
