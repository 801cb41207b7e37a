// The log of the object, as git has one of a file, and who made each column what it is. The column and the page are in the address.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Author, changeWord, endsOf, ObjectChanges, Statement } from "../../parts/object-changes.tsx";
import { Section } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { PAGE } from "../../search-params.ts";
import { When } from "../../parts/when.tsx";
import type { TabProps } from "./tab-props.ts";

type Blamed = Answer<"/api/v2/blame">["columns"][number];
const route = getRouteApi("/datasets/$id/{-$tab}");
const NOT_SHOWN = "no log and no schema shows it";

export function LogTab({ dataset, asOf }: TabProps) {
  const { column, page = 1 } = route.useSearch();
  const navigate = useNavigate({ from: "/datasets/$id/{-$tab}" });
  const blame = useAsk("/api/v2/blame", { query: { node: dataset.id, as_of: asOf } });
  const log = useAsk(
    "/api/v2/object-log",
    { query: { node: dataset.id, column, as_of: asOf, limit: PAGE, offset: (page - 1) * PAGE } },
    { keep: true },
  );
  return (
    <>
      <Section title="Who made each column">
        <Answered of={blame}>
          {({ columns }) => (
            <Table
              label="Blame"
              file={`${dataset.label} blame`}
              rows={columns}
              keyOf={(one) => one.column}
              columns={blameColumns(column)}
              empty={<p className="soft">No column of it is known.</p>}
            />
          )}
        </Answered>
      </Section>
      <Section
        title={column ? `Changes of ${column}` : "Changes of the object"}
        beside={
          column && (
            <Link to="." search={(now) => ({ ...now, column: undefined, page: undefined })}>
              of all columns
            </Link>
          )
        }
      >
        <Answered of={log}>
          {({ changes, total, names, left_out }) => (
            <>
              {names.length > 1 && (
                <p>
                  Earlier names: <span className="mono">{names.slice(1).join(", ")}</span>
                </p>
              )}
              <ObjectChanges
                file={`${dataset.label} log`}
                changes={changes}
                total={total}
                state={{ page }}
                onState={(next) =>
                  void navigate({ search: (now) => ({ ...now, page: next.page }), params: (now) => now })
                }
              />
              {left_out > 0 && (
                <p className="notice-line">{plural(left_out, "older statement")} of the log: not kept.</p>
              )}
            </>
          )}
        </Answered>
      </Section>
    </>
  );
}

const blameColumns = (chosen: string | undefined): Column<Blamed>[] => [
  {
    id: "column",
    header: "Column",
    value: (one) => one.column,
    cell: (one) => (
      <Link
        className="mono name"
        to="."
        search={(now) => ({ ...now, column: one.column, page: undefined })}
        activeOptions={{ exact: true }}
        aria-current={one.column === chosen ? "true" : undefined}
        title={`The changes of ${one.column}`}
      >
        {one.column}
      </Link>
    ),
  },
  {
    id: "type",
    header: "Type",
    value: (one) => one.type,
    cell: (one) => <span className="mono soft">{one.type ?? "–"}</span>,
  },
  {
    id: "at",
    header: "When",
    value: (one) => one.change?.at,
    cell: (one) =>
      one.change ? (
        <When at={one.change.at} full />
      ) : one.seen_since ? (
        <span className="soft">
          there since its first schema, <When at={one.seen_since} full />
        </span>
      ) : (
        <span className="soft">{NOT_SHOWN}</span>
      ),
  },
  {
    id: "change",
    header: "Change",
    value: (one) => one.change && `${changeWord(one.change)}: ${endsOf(one.change)}`,
    cell: (one) =>
      one.change && (
        <>
          {changeWord(one.change)} <span className="mono name wraps soft">{endsOf(one.change)}</span>
        </>
      ),
  },
  {
    id: "who",
    header: "Who",
    value: (one) => one.change?.by,
    cell: (one) => one.change && <Author change={one.change} />,
  },
  {
    id: "by",
    header: "By",
    wide: true,
    value: (one) => one.change?.statement,
    cell: (one) => one.change && <Statement change={one.change} />,
  },
];
