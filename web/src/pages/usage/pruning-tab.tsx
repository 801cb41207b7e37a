import { lazy, Suspense } from "react";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { count, money, percent, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { Waiting } from "../../parts/waiting.tsx";
import { When } from "../../parts/when.tsx";
import { phrasesOf } from "./evidence.ts";
import { NotMeasured } from "./not-measured.tsx";
import { Proof } from "./proof.tsx";
import type { UsageTabProps } from "./usage-page.tsx";

type Blocked = Answer<"/api/v2/pruning">["blocked"][number];
type Row = Answer<"/api/v2/pruning">["datasets"][number];
const BarsOf = lazy(() => import("../../parts/charts.tsx").then((module) => ({ default: module.BarsOf })));

const REASONS: Record<string, string> = {
  unread: "unread, and feeds nothing",
  feeds_unread: "feeds only what goes before it",
  loop: "feeds only what goes with it",
};
const USES: Record<string, string> = {
  job: "another producer's job",
  person: "an edge that a person drew",
  entity: "a schedule",
  sla: "an SLA covers it",
  rule: "a rule of alerts names it",
  mark: "marked to stay",
  key: "a foreign key of",
  view: "a view",
  policy: "a row policy",
  function: "a function reads or writes it",
  procedure: "a procedure reads or writes it",
  trigger: "a trigger reads or writes it",
  publication: "published by",
  feeds: "feeds what stays",
};
/** Other uses are by what has a name and no page of its own: an SLA, a publication. */
const isNode = (use: { kind: string; by: string }) =>
  use.kind === "entity" || use.kind === "person" || /^(job|dataset):/.test(use.by);
const MOST_USES = 3;

const blockedColumns: Column<Blocked>[] = [
  {
    id: "name",
    header: "Stays",
    wide: true,
    value: (row) => row.id,
    cell: (row) => <NodeLink id={row.id} />,
  },
  {
    id: "uses",
    header: "Blocked by live use",
    value: (row) => row.uses.map((use) => `${use.kind} ${use.by}`).join("; "),
    cell: (row) => (
      <ul className="plain-list">
        {row.uses.slice(0, MOST_USES).map((use) => (
          <li key={`${use.kind} ${use.by}`}>
            <span className="soft">{USES[use.kind] ?? use.kind}:</span>{" "}
            {use.kind === "entity" && <NodeLink id={`instances:${use.by}`} label={use.by} />}
            {isNode(use) ? use.kind !== "entity" && <NodeLink id={use.by} /> : use.by}
          </li>
        ))}
        {row.uses.length + row.more_uses > MOST_USES && (
          <li className="soft">and {count(row.uses.length + row.more_uses - MOST_USES)} more, earlier</li>
        )}
      </ul>
    ),
  },
  {
    id: "last",
    header: "Last use",
    value: (row) => lastUse(row),
    cell: (row) => (lastUse(row) ? <When at={lastUse(row)} /> : "not known"),
  },
];

/** ISO 8601 UTC sorts as text. */
const lastUse = (row: Blocked) =>
  row.uses.reduce<string | null>(
    (last, use) => (use.last_used_at && (!last || use.last_used_at > last) ? use.last_used_at : last),
    null,
  );

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
    id: "once",
    header: "Cost once",
    number: true,
    minor: true,
    value: (row) => row.money_once,
    cell: (row) => money(row.money_once),
  },
  {
    id: "confidence",
    header: "Sure",
    number: true,
    sort: "confidence",
    value: (row) => row.confidence,
    cell: (row) => percent(row.confidence),
  },
  {
    id: "vouches",
    header: "Seen for",
    number: true,
    value: (row) => row.vouches_days,
    cell: (row) =>
      row.vouches_days === null ? (
        "–"
      ) : (
        <span title="A reader that comes at least this often would be in the log.">
          {plural(row.vouches_days, "day")}
        </span>
      ),
  },
  { id: "reason", header: "Why", value: (row) => row.reason, cell: (row) => REASONS[row.reason] ?? row.reason },
  {
    id: "evidence",
    header: "Evidence",
    minor: true,
    value: (row) => row.evidence,
    cell: (row) => (
      <ul className="plain-list small says">
        {phrasesOf(row.evidence).map((phrase) => (
          <li key={phrase}>{phrase}</li>
        ))}
      </ul>
    ),
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
                <p className="soft">
                  The log shows no need of these, but the server knows a use of each, or of what it feeds.
                </p>
                <Table
                  label="In use outside of the log"
                  columns={blockedColumns}
                  rows={blocked}
                  keyOf={(row) => row.id}
                  empty={null}
                />
                {blocked_total > blocked.length && (
                  <p className="notice-line">
                    {count(blocked_total - blocked.length)} more are not listed: narrow by a namespace.
                  </p>
                )}
              </Section>
            )}
            <Proof />
          </>
        )
      }
    </Answered>
  );
}
