// The one list of the page: columns to choose, order, pages, keys, CSV. Its state is its caller's, in the address.
import { columnVisibilityFeature, type ColumnDef as Definition, tableFeatures, useTable } from "@tanstack/react-table";
import { type KeyboardEvent, type ReactNode, useMemo, useRef } from "react";
import { count } from "../format.ts";
import { PAGE } from "../search-params.ts";
import { saveCsv } from "./csv.ts";

const features = tableFeatures({ columnVisibilityFeature });

export interface Column<T extends object> {
  id: string;
  header: string;
  cell(row: T): ReactNode;
  /** The plain value, for CSV; without it the column is not exported. */
  value?(row: T): string | number | null | undefined;
  /** Numbers stand right-aligned, in tabular figures. */
  number?: boolean;
  /** What the server calls this order; without it the column cannot be sorted. */
  sort?: string;
  /** Takes what room is left. */
  wide?: boolean;
  /** Not shown on a phone. */
  minor?: boolean;
}

export interface TableState {
  page?: number;
  sort?: string;
  order?: "asc" | "desc";
  without?: string[];
}

interface Props<T extends object> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf(row: T): string;
  /** Of all pages; absent: these rows are all. */
  total?: number;
  pageSize?: number;
  /** How many of the rows are the page's own, if some of them are opened; absent: all. */
  pageRows?: number;
  /** More may follow, though it is not known how many. */
  more?: boolean;
  state?: TableState;
  onState?(next: TableState): void;
  /** Loads every row, for CSV; without it the rows on the screen are exported. */
  all?(): Promise<readonly T[]>;
  file?: string;
  empty: ReactNode;
  /** Rows can be ticked; keys of those that are. */
  ticked?: ReadonlySet<string>;
  onTick?(next: ReadonlySet<string>): void;
  children?: ReactNode;
}

export function Table<T extends object>(props: Props<T>) {
  const { columns, rows, state = {}, onState, pageSize = PAGE } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const without = state.without;
  const table = useTable({
    features,
    data: rows,
    getRowId: props.keyOf,
    columns: useMemo(
      () => columns.map(({ id, header }): Definition<typeof features, T> => ({ id, header })),
      [columns],
    ),
    state: {
      columnVisibility: useMemo(
        () => Object.fromEntries((without ?? []).map((id) => [id, false])) as Record<string, boolean>,
        [without],
      ),
    },
  });
  const byId = new Map(columns.map((column) => [column.id, column]));
  const shown = table.getVisibleLeafColumns().map((column) => byId.get(column.id)!);
  const page = state.page ?? 1;
  const first = (page - 1) * pageSize;
  const pages = props.total === undefined ? 1 : Math.max(Math.ceil(props.total / pageSize), 1);

  // Up and down go from row to row; each row's first link opens it.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = [...(body.current?.querySelectorAll<HTMLElement>("tr") ?? [])].map((row) =>
      row.querySelector<HTMLElement>("a, button"),
    );
    const here = links.findIndex((link) => link?.closest("tr") === document.activeElement?.closest("tr"));
    const next = links[here + (event.key === "ArrowDown" ? 1 : -1)];
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
  const exported = async () =>
    saveCsv(
      props.file ?? props.label,
      shown.filter((column) => column.value).map((column) => ({ header: column.header, value: column.value! })),
      props.all ? await props.all() : rows,
    );

  return (
    <div className="table-box">
      <div className="table-bar">
        {props.children}
        <span className="table-count">
          {props.total !== undefined ? (
            <>
              {rows.length === 0 ? "0" : `${count(first + 1)}–${count(first + (props.pageRows ?? rows.length))}`} of{" "}
              {count(props.total)}
            </>
          ) : (
            <>
              {count(rows.length)}
              {props.more ? " and more" : ""}
            </>
          )}
        </span>
        {onState && (
          <details className="chooser">
            <summary>Columns</summary>
            <div className="chooser-list">
              {columns.map((column) => (
                <label key={column.id}>
                  <input
                    type="checkbox"
                    checked={!without?.includes(column.id)}
                    onChange={(event) => {
                      const others = (without ?? []).filter((id) => id !== column.id);
                      const next = event.currentTarget.checked ? others : [...others, column.id];
                      onState({ ...state, without: next.length ? next : undefined });
                    }}
                  />
                  {column.header}
                </label>
              ))}
            </div>
          </details>
        )}
        {rows.length > 0 && (
          <button type="button" className="button quiet" onClick={() => void exported()}>
            CSV
          </button>
        )}
      </div>
      {rows.length === 0 ? (
        props.empty
      ) : (
        <div className="table-scroll" tabIndex={0} role="region" aria-label={props.label}>
          <table className="table">
            <caption className="sr-only">{props.label}</caption>
            <thead>
              <tr>
                {props.ticked && (
                  <th scope="col" className="tick">
                    <input
                      type="checkbox"
                      aria-label="Tick all rows of this page"
                      checked={rows.every((row) => props.ticked!.has(props.keyOf(row)))}
                      onChange={(event) =>
                        props.onTick?.(new Set(event.currentTarget.checked ? rows.map((row) => props.keyOf(row)) : []))
                      }
                    />
                  </th>
                )}
                {shown.map((column) => (
                  <Head key={column.id} column={column} state={state} onState={onState} />
                ))}
              </tr>
            </thead>
            <tbody ref={body} onKeyDown={onKeyDown}>
              {table.getRowModel().rows.map((row) => (
                <tr key={row.id}>
                  {props.ticked && (
                    <td className="tick">
                      <input
                        type="checkbox"
                        aria-label={`Tick ${row.id}`}
                        checked={props.ticked.has(row.id)}
                        onChange={(event) => {
                          const next = new Set(props.ticked);
                          if (event.currentTarget.checked) next.add(row.id);
                          else next.delete(row.id);
                          props.onTick?.(next);
                        }}
                      />
                    </td>
                  )}
                  {shown.map((column) => (
                    <td key={column.id} className={classOf(column)}>
                      {column.cell(row.original as T)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {onState && pages > 1 && (
        <nav className="pager" aria-label={`Pages of ${props.label}`}>
          <button
            type="button"
            className="button quiet"
            disabled={page <= 1}
            onClick={() => onState({ ...state, page: page - 1 || undefined })}
          >
            Previous
          </button>
          <span>
            Page {count(page)} of {count(pages)}
          </span>
          <button
            type="button"
            className="button quiet"
            disabled={page >= pages}
            onClick={() => onState({ ...state, page: page + 1 })}
          >
            Next
          </button>
        </nav>
      )}
    </div>
  );
}

const classOf = <T extends object>(column: Column<T>) =>
  [column.number && "number", column.wide && "wide", column.minor && "minor"].filter(Boolean).join(" ") || undefined;

function Head<T extends object>({
  column,
  state,
  onState,
}: {
  column: Column<T>;
  state: TableState;
  onState?(next: TableState): void;
}) {
  const on = column.sort !== undefined && state.sort === column.sort;
  if (!column.sort || !onState)
    return (
      <th scope="col" className={classOf(column)}>
        {column.header}
      </th>
    );
  const next = on ? (state.order === "asc" ? "desc" : "asc") : column.number ? "desc" : "asc";
  return (
    <th
      scope="col"
      className={classOf(column)}
      aria-sort={on ? (state.order === "asc" ? "ascending" : "descending") : "none"}
    >
      <button
        type="button"
        className="sort"
        onClick={() => onState({ ...state, page: undefined, sort: column.sort, order: next })}
      >
        {column.header}
        <span aria-hidden="true">{on ? (state.order === "asc" ? " ↑" : " ↓") : ""}</span>
      </button>
    </th>
  );
}
