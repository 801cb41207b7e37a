import { lazy, Suspense } from "react";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { count, money, percent } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { type Column, PAGE, Table } from "../../parts/table.tsx";
import { Waiting } from "../../parts/waiting.tsx";
import { When } from "../../parts/when.tsx";
import { NotMeasured } from "./not-measured.tsx";
import type { UsageTabProps } from "./usage-page.tsx";

type Row = Answer<"/api/v2/pruning">["datasets"][number];
const BarsOf = lazy(() => import("../../parts/charts.tsx").then((module) => ({ default: module.BarsOf })));

const columns: Column<Row>[] = [
  { id: "wave", header: "Wave", number: true, sort: "wave", value: (row) => row.wave, cell: (row) => row.wave },
  {
    id: "name",
    header: "Dataset",
    wide: true,
    sort: "name",
    value: (row) => row.id,
    cell: (row) => <NodeLink id={row.id} />,
  },
  {
    id: "money",
    header: "Saves a month",
    number: true,
    sort: "money_month",
    value: (row) => row.money_month,
    cell: (row) => money(row.money_month),
  },
  {
    id: "confidence",
    header: "Sure",
    number: true,
    sort: "confidence",
    value: (row) => row.confidence,
    cell: (row) => percent(row.confidence),
  },
  { id: "reason", header: "Why", value: (row) => row.reason, cell: (row) => row.reason },
  {
    id: "evidence",
    header: "Evidence",
    minor: true,
    value: (row) => row.evidence,
    cell: (row) => <span className="small">{row.evidence}</span>,
  },
  {
    id: "last",
    header: "Last read",
    minor: true,
    sort: "last_read",
    value: (row) => row.last_read_at,
    cell: (row) => <When at={row.last_read_at} />,
  },
];

export function PruningTab({ search, change }: UsageTabProps) {
  const { page = 1, sort, order, namespace } = search;
  const list = useAsk(
    "/api/v2/pruning",
    { query: { sort: sort ?? "wave", order, namespace, limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  return (
    <Answered of={list} lines={8}>
      {({ total, waves, datasets, money_month, measured_at, blocked, blocked_total }) =>
        measured_at === null && total === 0 && blocked_total === 0 ? (
          <NotMeasured />
        ) : (
          <>
            {waves.length > 0 && (
              <Section title="What each wave saves, a month" beside={`${money(money_month)} in all`}>
                <Suspense fallback={<Waiting lines={3} />}>
                  <BarsOf
                    label="Saved a month"
                    bars={waves.map((wave) => ({
                      name: `wave ${wave.wave}: ${count(wave.datasets)}`,
                      value: wave.money_month ?? 0,
                    }))}
                  />
                </Suspense>
              </Section>
            )}
            <Table
              label="What may be removed"
              columns={columns}
              rows={datasets}
              keyOf={(row) => row.id}
              total={total}
              state={search}
              onState={change}
              empty={<Empty title="Every dataset is used" />}
            />
            {blocked.length > 0 && (
              <Section title="In use outside of the log" beside={count(blocked_total)}>
                <ul>
                  {blocked.map((one) => (
                    <li key={one.id}>
                      <NodeLink id={one.id} />: {one.uses.map((use) => `${use.kind} ${use.by}`).join(", ")}
                      {one.uses[0]?.last_used_at && (
                        <>
                          , last <When at={one.uses[0].last_used_at} />
                        </>
                      )}
                    </li>
                  ))}
                </ul>
              </Section>
            )}
          </>
        )
      }
    </Answered>
  );
}
