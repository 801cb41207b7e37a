import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { count } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { lookOf, State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { Waiting } from "../../parts/waiting.tsx";
import { When } from "../../parts/when.tsx";
import { NotMeasured } from "./not-measured.tsx";
import type { UsageTabProps } from "./usage-page.tsx";

type Row = Answer<"/api/v2/usage">["datasets"][number];
const BarsOf = lazy(() => import("../../parts/charts.tsx").then((module) => ({ default: module.BarsOf })));

const columns: Column<Row>[] = [
  {
    id: "name",
    header: "Dataset",
    wide: true,
    sort: "name",
    value: (row) => row.id,
    cell: (row) => <NodeLink id={row.id} tab="usage" />,
  },
  { id: "status", header: "State", value: (row) => row.status, cell: (row) => <State state={row.status} /> },
  {
    id: "reads",
    header: "Reads",
    number: true,
    sort: "reads",
    value: (row) => row.reads,
    cell: (row) => count(row.reads),
  },
  {
    id: "people",
    header: "People",
    number: true,
    sort: "people",
    value: (row) => row.people,
    cell: (row) => count(row.people),
  },
  {
    id: "readers",
    header: "Readers",
    number: true,
    sort: "readers",
    minor: true,
    value: (row) => row.readers,
    cell: (row) => count(row.readers),
  },
  {
    id: "writes",
    header: "Writes",
    number: true,
    sort: "writes",
    minor: true,
    value: (row) => row.writes,
    cell: (row) => count(row.writes),
  },
  {
    id: "last",
    header: "Last read",
    sort: "last_read",
    value: (row) => row.last_read_at,
    cell: (row) => <When at={row.last_read_at} />,
  },
  {
    id: "by",
    header: "Most by",
    minor: true,
    value: (row) => row.top_readers[0]?.actor,
    cell: (row) => row.top_readers[0]?.actor ?? <span className="soft">–</span>,
  },
];

export function UseTab({ search, change }: UsageTabProps) {
  const { page = 1, sort, order, status, namespace } = search;
  const usage = useAsk(
    "/api/v2/usage",
    {
      query: {
        sort: sort ?? "reads",
        order,
        status: status ? [status] : null,
        namespace,
        limit: PAGE,
        offset: (page - 1) * PAGE,
      },
    },
    { keep: true },
  );
  return (
    <Answered of={usage} lines={8}>
      {({ total, totals, datasets, measured_at }) =>
        measured_at === null && total === 0 && !status ? (
          <NotMeasured />
        ) : (
          <>
            <nav className="choices" aria-label="States">
              <Link
                to="."
                search={(now) => ({ ...now, status: undefined, page: undefined }) as never}
                className="choice"
                activeOptions={{ exact: true }}
                aria-current={!status ? "page" : undefined}
              >
                all
              </Link>
              {Object.entries(totals.by_status).map(([one, n]) => (
                <Link
                  key={one}
                  to="."
                  search={(now) => ({ ...now, status: one, page: undefined }) as never}
                  className="choice"
                  activeOptions={{ exact: true }}
                  aria-current={status === one ? "page" : undefined}
                >
                  {lookOf(one).word} {n}
                </Link>
              ))}
              <span className="soft">
                measured <When at={measured_at} />
              </span>
            </nav>
            {!sort && page === 1 && datasets.length > 1 && (
              <Section title="Most read">
                <Suspense fallback={<Waiting lines={3} />}>
                  <BarsOf
                    label="Reads"
                    bars={datasets.slice(0, 8).map((row) => ({ name: row.label, value: row.reads }))}
                  />
                </Suspense>
              </Section>
            )}
            <Table
              label="Use of datasets"
              columns={columns}
              rows={datasets}
              keyOf={(row) => row.id}
              total={total}
              state={search}
              onState={change}
              empty={<p className="soft">No dataset is like this.</p>}
            />
          </>
        )
      }
    </Answered>
  );
}
