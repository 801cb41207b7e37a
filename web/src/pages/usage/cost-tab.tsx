import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { bytes, count, duration, money, percent } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Facts, Section } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { Waiting } from "../../parts/waiting.tsx";
import { NotMeasured } from "./not-measured.tsx";
import type { UsageTabProps } from "./usage-page.tsx";

type Row = Answer<"/api/v2/cost">["costs"][number];
const BarsOf = lazy(() => import("../../parts/charts.tsx").then((module) => ({ default: module.BarsOf })));
const GRAINS = [
  ["table", "datasets"],
  ["shape", "queries"],
  ["user", "users"],
  ["task", "tasks"],
  ["model", "models"],
  ["tool", "tools"],
] as const;

const columns: Column<Row>[] = [
  {
    id: "name",
    header: "What",
    wide: true,
    sort: "name",
    value: (row) => row.id ?? row.name,
    cell: (row) => (row.id ? <NodeLink id={row.id} label={row.label} /> : <span>{row.name}</span>),
  },
  {
    id: "money",
    header: "Money",
    number: true,
    sort: "money",
    value: (row) => row.money,
    cell: (row) => money(row.money),
  },
  {
    id: "share",
    header: "Share",
    number: true,
    sort: "share",
    value: (row) => row.share,
    cell: (row) => percent(row.share),
  },
  {
    id: "executions",
    header: "Executions",
    number: true,
    sort: "executions",
    minor: true,
    value: (row) => row.executions,
    cell: (row) => count(row.executions),
  },
  {
    id: "bytes",
    header: "Billed",
    number: true,
    sort: "bytes_billed",
    minor: true,
    value: (row) => row.bytes_billed,
    cell: (row) => bytes(row.bytes_billed),
  },
  {
    id: "duration",
    header: "Time",
    number: true,
    sort: "duration_ms",
    minor: true,
    value: (row) => row.duration_ms,
    cell: (row) => duration(row.duration_ms),
  },
  {
    id: "keep",
    header: "To keep, a month",
    number: true,
    sort: "keep_month",
    minor: true,
    value: (row) => row.keep_month,
    cell: (row) => money(row.keep_month),
  },
];

export function CostTab({ search, change }: UsageTabProps) {
  const { page = 1, sort, order, namespace } = search;
  const grain = GRAINS.find(([one]) => one === search.grain)?.[0] ?? "table";
  const cost = useAsk(
    "/api/v2/cost",
    { query: { grain, sort: sort ?? "money", order, namespace, limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  return (
    <>
      <nav className="choices" aria-label="Cost of">
        {GRAINS.map(([one, word]) => (
          <Link
            key={one}
            to="."
            search={(now) => ({ ...now, grain: one === "table" ? undefined : one, page: undefined }) as never}
            className="choice"
            activeOptions={{ exact: true }}
            aria-current={grain === one ? "page" : undefined}
          >
            {word}
          </Link>
        ))}
      </nav>
      <Answered of={cost} lines={8}>
        {({ total, totals, costs, hidden, measured_at }) =>
          total === 0 && measured_at === null ? (
            <NotMeasured />
          ) : (
            <>
              <Facts
                facts={[
                  ["Money", money(totals.money)],
                  ["To keep, a month", money(totals.keep_month)],
                  ["Executions", count(totals.executions)],
                  ["Billed", bytes(totals.bytes_billed)],
                ]}
              />
              {!sort && page === 1 && costs.length > 1 && (
                <Section title="Top drivers">
                  <Suspense fallback={<Waiting lines={3} />}>
                    <BarsOf
                      label="Money"
                      bars={costs.slice(0, 8).map((row) => ({ name: row.label, value: row.money ?? 0 }))}
                    />
                  </Suspense>
                </Section>
              )}
              <Table
                label="Costs"
                columns={columns}
                rows={costs}
                keyOf={(row) => row.id ?? `${row.namespace} ${row.name}`}
                total={total}
                state={search}
                onState={change}
                empty={<p className="soft">No cost was measured for these.</p>}
              />
              {hidden > 0 && <p className="soft">{count(hidden)} of the cheapest were not published.</p>}
            </>
          )
        }
      </Answered>
    </>
  );
}
