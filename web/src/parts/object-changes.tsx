// Changes of a table itself, one a line: when, by whom, by which statement or run, before and after.
import type { Answer } from "../api/client.ts";
import { count } from "../format.ts";
import { type Column, Table, type TableState } from "./table.tsx";
import { When } from "./when.tsx";

export type ObjectChange = Answer<"/api/v2/object-log">["changes"][number];

/** No statement of the log explains it: the schema alone shows it. */
export const isSeenOnly = (change: ObjectChange) => change.source === "schema";

/** A statement in a branch of a script may not have run. */
export function changeWord(change: ObjectChange): string {
  const word = change.action.replaceAll("_", " ");
  return change.certain ? word : `${word}? (perhaps)`;
}

/** From what to what; the name of the object where nothing is before or after. */
export function endsOf({ before, after, column, object }: ObjectChange): string {
  const place = column ?? object;
  const ends = before !== null && after !== null ? `${before} → ${after}` : (after ?? before ?? place);
  return ends === place || place === before || place === after ? ends : `${place}: ${ends}`;
}

export function Author({ change }: { change: ObjectChange }) {
  if (isSeenOnly(change)) return <span className="soft">unknown: seen in the schema</span>;
  return change.by ?? <span className="soft">unknown</span>;
}

export function Statement({ change }: { change: ObjectChange }) {
  if (change.job === null && change.statement === null) return "–";
  return (
    <span className="path">
      {change.job !== null && <span className="soft">{change.job}</span>}
      {change.statement !== null && <code className="mono small">{change.statement}</code>}
    </span>
  );
}

export const changeColumns: Column<ObjectChange>[] = [
  { id: "at", header: "When", value: (one) => one.at, cell: (one) => <When at={one.at} full /> },
  { id: "change", header: "Change", value: changeWord, cell: changeWord },
  {
    id: "ends",
    header: "Before and after",
    value: endsOf,
    cell: (one) => (
      <span className="mono name wraps">
        {endsOf(one)}
        {one.times > 1 && <span className="soft"> {count(one.times)} times</span>}
      </span>
    ),
  },
  {
    id: "who",
    header: "Who",
    value: (one) => (isSeenOnly(one) ? "unknown: seen in the schema" : one.by),
    cell: (one) => <Author change={one} />,
  },
  {
    id: "by",
    header: "By",
    wide: true,
    value: (one) => [one.job, one.statement].filter(Boolean).join(": "),
    cell: (one) => <Statement change={one} />,
  },
];

interface Props {
  changes: readonly ObjectChange[];
  file: string;
  /** Of all pages; with `state` and `onState`. */
  total?: number;
  state?: TableState;
  onState?(next: TableState): void;
}

export function ObjectChanges({ changes, file, total, state, onState }: Props) {
  return (
    <Table
      label="Changes of the object"
      file={file}
      rows={changes}
      keyOf={(one) => `${one.at} ${one.action} ${one.object} ${one.column} ${one.before} ${one.after} ${one.query}`}
      columns={changeColumns}
      total={total}
      state={state}
      onState={onState}
      empty={<p className="soft">No statement of a log and no schema shows a change.</p>}
    />
  );
}
