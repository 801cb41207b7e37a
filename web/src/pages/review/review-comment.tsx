// The comment of a review, as the forge shows it, with links to what the server knows of the same names.
import { Link } from "@tanstack/react-router";
import { count, money, plural } from "../../format.ts";
import {
  type Affected,
  type BrokenPolicy,
  changeOf,
  type Effect,
  type Party,
  questionOf,
  type Review,
  summaryOf,
} from "./review.ts";
import { Section } from "../../parts/page.tsx";
import { lookOf, State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";

const TableName = ({ name }: { name: string }) => (
  <Link className="mono name" to="/catalogue/$kind" params={{ kind: "datasets" }} search={{ q: name }} title={name}>
    {name}
  </Link>
);

const affectedColumns: Column<Affected>[] = [
  {
    id: "effect",
    header: "Effect",
    value: (row) => `${row.severity}${row.certain ? "" : ", perhaps"}`,
    cell: (row) => (
      <>
        <State state={row.severity} />
        {!row.certain && <span className="soft"> perhaps</span>}
      </>
    ),
  },
  {
    id: "where",
    header: "Where",
    value: (row) => `${row.place}:${row.line}`,
    cell: (row) => (
      <span className="mono name wraps">
        {row.place}:{row.line}
        {row.edited && (
          <>
            {" "}
            <span className="tag">edited</span>
          </>
        )}
      </span>
    ),
  },
  {
    id: "makes",
    header: "Makes",
    value: (row) => row.table,
    cell: (row) =>
      row.table ? (
        <>
          <TableName name={row.table} /> {row.tier && <span className="tag">tier {row.tier}</span>}
        </>
      ) : (
        <span className="soft">a query</span>
      ),
  },
  {
    id: "why",
    header: "Why",
    wide: true,
    value: (row) => [row.reason, ...row.columns].join(" "),
    cell: (row) => (
      <>
        {row.reason}
        {row.columns.length > 0 && <span className="mono small">: {row.columns.join(", ")}</span>}
      </>
    ),
  },
  {
    id: "way",
    header: "By way of",
    minor: true,
    value: (row) => row.path.join(" → "),
    cell: (row) => <span className="mono name wraps">{row.path.join(" → ") || "–"}</span>,
  },
];

const partyColumns: Column<Party>[] = [
  { id: "who", header: "Who", wide: true, value: (row) => row.name, cell: (row) => row.name },
  { id: "kind", header: "Kind", value: (row) => row.kind, cell: (row) => row.kind },
  { id: "effect", header: "Effect", value: (row) => row.severity, cell: (row) => <State state={row.severity} /> },
  {
    id: "because",
    header: "Because of",
    value: (row) => row.because.join(" "),
    cell: (row) => <span className="mono name wraps">{row.because.join(", ")}</span>,
  },
  { id: "runs", header: "Ran", number: true, value: (row) => row.runs, cell: (row) => count(row.runs) },
  {
    id: "last",
    header: "Last",
    value: (row) => row.last_at,
    cell: (row) => (row.last_at ? <When at={row.last_at} /> : "–"),
  },
];

const policyColumns: Column<BrokenPolicy>[] = [
  { id: "policy", header: "Policy", wide: true, value: (row) => row.policy, cell: (row) => row.policy },
  {
    id: "where",
    header: "Where",
    value: (row) => `${row.place}:${row.line}`,
    cell: (row) => (
      <span className="mono name wraps">
        {row.place}:{row.line}
      </span>
    ),
  },
  {
    id: "in",
    header: "Breaks it in",
    value: (row) => `${row.table} ${row.column ?? ""}`,
    cell: (row) => (
      <>
        <TableName name={row.table} />
        {row.column !== null && <span className="mono">.{row.column}</span>}
      </>
    ),
  },
  {
    id: "way",
    header: "By way of",
    value: (row) => row.path.join(" → "),
    cell: (row) => <span className="mono name wraps">{row.path.join(" → ")}</span>,
  },
];

interface Props {
  review: Review;
  /** Only texts of this effect. */
  effect?: Effect;
}

export function ReviewComment({ review, effect }: Props) {
  const { affected, changes, same, problems, policies, noticed, severity, fails } = review;
  const shown = affected.filter((one) => effect === undefined || one.severity === effect);
  return (
    <>
      <p className="verdict" role="status">
        <State state={severity ?? "completed"} word={severity ? undefined : "nothing changes"} />
        <span>{summaryOf(review)}</span>
        {fails > 0 && <span>The policy refuses {plural(fails, "effect")}.</span>}
      </p>
      {policies.length > 0 && (
        <Section title="Policies that it would break" beside={<Link to="/privacy">All policies</Link>}>
          <Table
            label="Policies that it would break"
            rows={policies}
            keyOf={(row) => `${row.policy} ${row.place}:${row.line} ${row.table} ${row.column}`}
            columns={policyColumns}
            empty={null}
          />
        </Section>
      )}
      {affected.length > 0 && (
        <Section title="What notices">
          <div className="choices" role="group" aria-label="Effects">
            {[undefined, ...new Set(affected.map((one) => one.severity))].map((one) => (
              <Link
                key={one ?? "all"}
                className="choice"
                to="."
                search={(now) => ({ ...now, effect: one })}
                hash
                activeOptions={{ exact: true }}
                aria-current={one === effect ? "page" : undefined}
              >
                {one === undefined ? "all" : lookOf(one).word}{" "}
                {count(one === undefined ? affected.length : affected.filter((row) => row.severity === one).length)}
              </Link>
            ))}
          </div>
          <Table
            label="What notices"
            file="review"
            rows={shown}
            keyOf={(row) => `${row.place}:${row.line} ${row.table} ${row.severity} ${row.reason}`}
            columns={affectedColumns}
            empty={<p className="soft">No text has this effect.</p>}
          />
        </Section>
      )}
      {noticed && (
        <Section title="Who notices">
          <Table
            label="Who notices"
            rows={noticed.parties}
            keyOf={(row) => `${row.kind} ${row.name}`}
            columns={partyColumns}
            empty={<p className="soft">No dashboard, person or pipeline that the server knows uses what changes.</p>}
          />
          {noticed.costs.map((one) => (
            <p key={one.table}>
              <span className="mono">{one.table}</span> costs: {plural(one.executions, "statement")}
              {one.money !== null && `, ${money(one.money)} to run`}
              {one.keep_month !== null && `, ${money(one.keep_month)} a month to keep`}.
            </p>
          ))}
          {noticed.unknown.length > 0 && (
            <p className="notice-line">
              The server does not know <span className="mono">{noticed.unknown.join(", ")}</span>.
            </p>
          )}
          {noticed.unasked > 0 && (
            <p className="notice-line">{plural(noticed.unasked, "more change")}: not asked about.</p>
          )}
        </Section>
      )}
      {changes.length > 0 && (
        <Section title="Changes of tables" beside={plural(changes.length, "change")}>
          <ul className="list">
            {changes.map((change) => {
              const question = questionOf(change);
              return (
                <li key={`${changeOf(change)} ${change.place}`}>
                  <span className="mono name wraps">{changeOf(change)}</span>
                  {question && (
                    <Link to="/whatif" search={question as never}>
                      What if
                    </Link>
                  )}
                </li>
              );
            })}
          </ul>
        </Section>
      )}
      {same.length > 0 && (
        <Section title="Edited without effect" beside={plural(same.length, "text")}>
          <p className="mono">{same.join(", ")}</p>
        </Section>
      )}
      {problems.length > 0 && (
        <Section title="Not read whole" beside={plural(problems.length, "problem")}>
          <ul>
            {problems.map((problem) => (
              <li key={problem} className="mono name wraps">
                {problem}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
