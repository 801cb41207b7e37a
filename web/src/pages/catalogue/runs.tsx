import { useCallback, useMemo } from "react";
import { useAsk } from "../../api/queries.ts";
import type { Run } from "../../api/types.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { toggled, TreeName } from "../../parts/tree-name.tsx";
import { type TreeRow, withChildren } from "../../parts/tree-rows.ts";
import { ParentChip } from "./parent-chip.tsx";
import { runColumns } from "../run/run-columns.tsx";
import { areRunsFolded, runsPage } from "./questions.ts";
import { useRunChildren } from "./use-children.ts";
import { useList } from "./use-list.ts";

const CLOSED: readonly string[] = [];
const STATES = ["RUNNING", "COMPLETED", "FAILED", "ABORTED"] as const;

export function Runs() {
  const { search, change } = useList();
  const { state, stalled, label, open = CLOSED } = search;
  const isFolded = areRunsFolded(search);
  const list = useAsk("/api/v2/runs", runsPage(search), { keep: true });
  const rows = list.data?.runs;
  const counts = list.data?.children;
  const openKey = open.join("\n");
  const toggle = useCallback(
    (id: string) => change({ open: toggled(openKey ? openKey.split("\n") : [], id) }),
    [openKey, change],
  );
  const below = useRunChildren(isFolded ? open : CLOSED);
  const shown = useMemo(
    () => (rows ? withChildren({ rows, children: isFolded ? (counts ?? {}) : {} }, below) : []),
    [rows, counts, below, isFolded],
  );
  const columns = useMemo(() => columnsOf(shown, toggle), [shown, toggle]);
  return (
    <Answered of={list} lines={10}>
      {({ total }) => (
        <Table<TreeRow<Run>>
          label="Runs"
          columns={columns}
          rows={shown}
          keyOf={({ item: run, depth }) => `${depth} ${run.id} ${run.job}`}
          pageRows={rows?.length}
          total={total}
          state={search}
          onState={change}
          empty={
            stalled || state ? (
              <Empty title={`No run is ${stalled ? "stalled" : state!.toLowerCase()}`}>Choose another state.</Empty>
            ) : (
              <Empty title="No run is known yet" command="headwater run PACKAGE">
                Runs appear with their first events.
              </Empty>
            )
          }
        >
          {search.parent && <ParentChip parent={search.parent} change={change} />}
          {label && (
            <button
              type="button"
              className="chip"
              title="Do not narrow by this label"
              onClick={() => change({ label: undefined, page: undefined })}
            >
              label: {label} <span aria-hidden="true">×</span>
            </button>
          )}
          <span className="choices" role="group" aria-label="State">
            <button
              type="button"
              className="choice"
              aria-pressed={!state && !stalled}
              onClick={() => change({ state: undefined, stalled: undefined, page: undefined })}
            >
              all
            </button>
            {STATES.map((one) => (
              <button
                type="button"
                className="choice"
                key={one}
                aria-pressed={state === one}
                onClick={() => change({ state: one, stalled: undefined, page: undefined })}
              >
                {one.toLowerCase()}
              </button>
            ))}
            <button
              type="button"
              className="choice"
              aria-pressed={stalled ?? false}
              onClick={() => change({ stalled: true, state: undefined, page: undefined })}
            >
              stalled
            </button>
          </span>
          {!state && !stalled && !label && !search.parent && (
            <button
              type="button"
              className="choice"
              aria-pressed={isFolded}
              title="A run of a package, a DAG or dbt stands for the runs that are part of it until it is opened"
              onClick={() => change({ fold: isFolded ? "none" : undefined, open: undefined, page: undefined })}
            >
              Fold runs
            </button>
          )}
        </Table>
      )}
    </Answered>
  );
}

/** The columns of any list of runs, of rows that may stand for others. */
function columnsOf(rows: readonly TreeRow<Run>[], toggle: (id: string) => void): Column<TreeRow<Run>>[] {
  const names = distinguish(rows.map(({ item }) => ({ id: item.job })));
  const longest = Math.max(...rows.map(({ item }) => item.duration_ms ?? 0), 1);
  return runColumns(names, longest).map((column) => ({
    ...column,
    value: column.value && ((row) => column.value!(row.item)),
    cell: (row) =>
      column.id === "job" ? (
        <TreeName row={row} noun="run" name={names.get(row.item.job) ?? row.item.job} toggle={toggle}>
          {column.cell(row.item)}
        </TreeName>
      ) : (
        column.cell(row.item)
      ),
  }));
}
