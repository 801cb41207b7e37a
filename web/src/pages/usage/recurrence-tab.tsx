import { Link } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { count, duration, percent } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { lookOf, State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { When } from "../../parts/when.tsx";
import { NotMeasured } from "./not-measured.tsx";
import type { UsageTabProps } from "./usage-page.tsx";

type Row = Answer<"/api/v2/recurrence">["shapes"][number];

const columns: Column<Row>[] = [
  {
    id: "name",
    header: "Query",
    wide: true,
    sort: "name",
    value: (row) => row.id,
    cell: (row) => <NodeLink id={row.id} label={row.label} />,
  },
  { id: "class", header: "Kind", value: (row) => row.class, cell: (row) => <State state={row.class} /> },
  {
    id: "every",
    header: "Every",
    number: true,
    sort: "period",
    value: (row) => row.period_seconds,
    cell: (row) => (row.period_seconds ? duration(row.period_seconds * 1000) : "–"),
  },
  {
    id: "executions",
    header: "Executions",
    number: true,
    sort: "executions",
    value: (row) => row.executions,
    cell: (row) => count(row.executions),
  },
  {
    id: "missing",
    header: "Missing",
    number: true,
    sort: "missing",
    value: (row) => row.missing,
    cell: (row) => (row.missing ? <State state="late" word={String(row.missing)} /> : "0"),
  },
  {
    id: "next",
    header: "Expected next",
    sort: "expected_next",
    minor: true,
    value: (row) => row.expected_next_at,
    cell: (row) => (row.expected_next_at ? <When at={row.expected_next_at} /> : "–"),
  },
  {
    id: "confidence",
    header: "Sure",
    number: true,
    sort: "confidence",
    minor: true,
    value: (row) => row.confidence,
    cell: (row) => percent(row.confidence),
  },
];

export function RecurrenceTab({ search, change }: UsageTabProps) {
  const { page = 1, sort, order, namespace } = search;
  const list = useAsk(
    "/api/v2/recurrence",
    {
      query: {
        class: search.class ? [search.class] : null,
        sort: sort ?? "missing",
        order,
        namespace,
        limit: PAGE,
        offset: (page - 1) * PAGE,
      },
    },
    { keep: true },
  );
  return (
    <Answered of={list} lines={8}>
      {({ total, totals, shapes, measured_at }) =>
        measured_at === null && total === 0 && !search.class ? (
          <NotMeasured />
        ) : (
          <>
            <nav className="choices" aria-label="Kinds">
              <Link
                to="."
                search={(now) => ({ ...now, class: undefined, page: undefined }) as never}
                className="choice"
                activeOptions={{ exact: true }}
                aria-current={!search.class ? "page" : undefined}
              >
                all
              </Link>
              {Object.entries(totals.by_class).map(([one, n]) => (
                <Link
                  key={one}
                  to="."
                  search={(now) => ({ ...now, class: one, page: undefined }) as never}
                  className="choice"
                  activeOptions={{ exact: true }}
                  aria-current={search.class === one ? "page" : undefined}
                >
                  {lookOf(one).word} {n}
                </Link>
              ))}
            </nav>
            <Table
              label="Recurrence of queries"
              columns={columns}
              rows={shapes}
              keyOf={(row) => row.id}
              total={total}
              state={search}
              onState={change}
              empty={<p className="soft">No query is like this.</p>}
            />
          </>
        )
      }
    </Answered>
  );
}
