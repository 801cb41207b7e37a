import { useEffect, useMemo, useState } from "react";
import { get } from "../../api/client.ts";
import { remember, useAsk } from "../../api/queries.ts";
import { useTroubles } from "../../api/troubles.ts";
import type { DatasetNode } from "../../api/types.ts";
import { count, shortNamespace } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Tags } from "../../parts/page.tsx";
import { Trouble } from "../incidents/trouble.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Bulk } from "./bulk.tsx";
import { FacetList, Narrow } from "./narrow.tsx";
import { datasetsPage, narrowedDatasets } from "./questions.ts";
import { useList } from "./use-list.ts";

const NONE: ReadonlySet<string> = new Set();

export function Datasets() {
  const { search, change } = useList();
  const { q, namespace, platform, tag, owner } = search;
  const narrowed = narrowedDatasets(search);
  const list = useAsk("/api/v2/datasets", datasetsPage(search), { keep: true });
  // Asked after the rows are there: the server answers those first.
  const counted = useAsk(
    "/api/v2/datasets",
    { query: { ...narrowed, facets: true, limit: 0 } },
    { keep: true, enabled: list.data !== undefined },
  );
  const rows = list.data?.datasets as DatasetNode[] | undefined;
  useEffect(() => {
    if (rows) remember(rows);
  }, [rows]);
  const [ticked, setTicked] = useState<ReadonlySet<string>>(NONE);
  const troubles = useTroubles(list.data !== undefined);
  const names = useMemo(() => distinguish(rows ?? []), [rows]);
  const columns = useMemo<Column<DatasetNode>[]>(
    () => [
      {
        id: "name",
        header: "Name",
        wide: true,
        sort: "name",
        value: (row) => row.name,
        cell: (row) => <NodeLink id={row.id} label={names.get(row.id)} />,
      },
      {
        id: "now",
        header: "Now",
        value: (row) => troubles.get(row.id)?.kind ?? null,
        cell: (row) => <Trouble of={row.id} among={troubles} />,
      },
      {
        id: "updated",
        header: "Last event",
        sort: "updated",
        number: true,
        value: (row) => row.updated_at,
        cell: (row) => <When at={row.updated_at} />,
      },
      {
        id: "namespace",
        header: "Namespace",
        minor: true,
        value: (row) => row.namespace,
        cell: (row) => (
          <span className="name soft" title={row.namespace}>
            {shortNamespace(row.namespace)}
          </span>
        ),
      },
      {
        id: "description",
        header: "Description",
        minor: true,
        value: (row) => row.description,
        cell: (row) => <span className="name">{row.description}</span>,
      },
      {
        id: "tags",
        header: "Tags",
        minor: true,
        value: (row) => row.tags.join(" "),
        cell: (row) => <Tags tags={row.tags} />,
      },
      {
        id: "owners",
        header: "Owners",
        minor: true,
        value: (row) => row.owner_names.join(" "),
        cell: (row) => <span className="name">{row.owner_names.join(", ") || "–"}</span>,
      },
      {
        id: "columns",
        header: "Columns",
        number: true,
        minor: true,
        value: (row) => row.fields.length,
        cell: (row) => row.fields.length || "–",
      },
      {
        id: "versions",
        header: "Versions",
        number: true,
        minor: true,
        value: (row) => row.version_count,
        cell: (row) => count(row.version_count),
      },
    ],
    [names, troubles],
  );
  return (
    <div className="with-facets">
      <FacetList facets={counted.data?.facets ?? undefined} change={change} />
      <Answered of={list} lines={10}>
        {({ total }) => (
          <Table
            label="Datasets"
            columns={columns}
            rows={rows ?? []}
            keyOf={(row) => row.id}
            total={total}
            state={search}
            onState={change}
            ticked={ticked}
            onTick={setTicked}
            all={async () => {
              const all = await get("/api/v2/datasets", { query: { ...narrowed, limit: 10_000 } });
              return all.datasets as DatasetNode[];
            }}
            empty={
              q || namespace || platform || tag || owner ? (
                <Empty title="No dataset is like this">Take a word or a facet away.</Empty>
              ) : (
                <Empty title="No dataset is known yet" command="headwater run PACKAGE">
                  Datasets appear with the first events that name them.
                </Empty>
              )
            }
          >
            <Narrow search={search} change={change} placeholder="Part of a name" />
            <Bulk
              kind="datasets"
              chosen={(rows ?? []).filter((row) => ticked.has(row.id))}
              clear={() => setTicked(NONE)}
            />
          </Table>
        )}
      </Answered>
    </div>
  );
}
