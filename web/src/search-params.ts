// What each page keeps in the query string: typed, with bad values left out, and nothing that is at its default.

export type Direction = "both" | "upstream" | "downstream";
export type Theme = "light" | "dark";
type Raw = Record<string, unknown>;

/** Values are plain texts, not JSON: an address can be read, and typed by hand. A list is `a=1&a=2`. */
export function parse(query: string): Raw {
  const found: Raw = {};
  for (const [key, value] of new URLSearchParams(query)) {
    const before = found[key];
    found[key] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
  }
  return found;
}

/** `:` and `/` stay readable; they are legal in a query. */
export function stringify(values: Raw): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined || value === null || value === "" || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) params.append(key, String(one));
  }
  const query = params.toString().replaceAll("%3A", ":").replaceAll("%2F", "/");
  return query ? `?${query}` : "";
}

const text = (value: unknown) => {
  const one = Array.isArray(value) ? value[0] : value;
  return one === undefined || one === null || one === "" ? undefined : String(one);
};
const texts = (value: unknown): string[] | undefined =>
  value === undefined || value === "" ? undefined : (Array.isArray(value) ? value : [value]).map(String);
const flag = (value: unknown) => (value === true || value === "true" || value === "1" ? true : undefined);
const oneOf = <T extends string>(value: unknown, ...allowed: T[]) =>
  allowed.find((one) => one === (Array.isArray(value) ? value[0] : value));
const number = (value: unknown, least: number, most: number) => {
  const n = Number.parseInt(String(value), 10);
  return Number.isFinite(n) ? Math.min(Math.max(n, least), most) : undefined;
};
const time = (value: unknown) => {
  const one = text(value);
  return one && !Number.isNaN(Date.parse(one)) ? one : undefined;
};

/** Every value may be absent, so that a link need not name it. */
const some = <T extends object>(values: T): Partial<T> => values;

export const MAX_DEPTH = 100;
export const MOST_NODES = 100_000;
/** Rows of one page of a list. */
export const PAGE = 100;

export const everywhere = (raw: Raw) =>
  some({
    /** ISO 8601 UTC; absent: now. */
    asOf: time(raw.asOf),
    theme: oneOf(raw.theme, "light", "dark"),
    zone: oneOf(raw.zone, "local"),
  });

/** Of a table: its words, its page, its order, and the columns that are not shown. */
const table = (raw: Raw) =>
  some({
    q: text(raw.q),
    page: number(raw.page, 1, 1_000_000),
    sort: text(raw.sort),
    order: oneOf(raw.order, "asc", "desc"),
    without: texts(raw.without),
  });

export const catalogue = (raw: Raw) =>
  some({
    ...table(raw),
    namespace: text(raw.namespace),
    platform: text(raw.platform),
    tag: text(raw.tag),
    owner: text(raw.owner),
    /** `kind:VIEW` of a dataset or job. */
    trait: text(raw.trait),
    /** `engine=spark 4.1.0` of a run. */
    label: text(raw.label),
    state: text(raw.state),
    stalled: flag(raw.stalled),
    /** Of jobs and runs: parents whose children are listed, and whether parents stand for them at all. */
    open: texts(raw.open),
    fold: oneOf(raw.fold, "none"),
    /** Of jobs and runs: only those directly below this one. */
    parent: text(raw.parent),
  });

export const LENSES = [
  "state",
  "incidents",
  "validity",
  "freshness",
  "usage",
  "cost",
  "pii",
  "completeness",
  "perspective",
  "disagreement",
  "tag",
  "namespace",
  "changed",
] as const;
export type Lens = (typeof LENSES)[number];

export const GROUPS = ["namespace", "source", "team", "product", "tag", "owner", "parent"] as const;
export type GroupBy = (typeof GROUPS)[number];

export const ORIGINS = ["observed", "declared", "parsed_sql", "manual"] as const;
export const RUN_STATES = ["completed", "failed", "aborted", "running"] as const;
export const RECURRENCES = ["recurring", "ad_hoc", "one_off"] as const;

/** What alone is drawn of a graph. Of several values of a key a node needs one; one that ends with `*` is a beginning. */
export const only = (raw: Raw) =>
  some({
    namespace: texts(raw.namespace),
    platform: texts(raw.platform),
    tag: texts(raw.tag),
    owner: texts(raw.owner),
    type: oneOf(raw.type, "dataset", "job"),
    /** Of jobs: the state of the last run. */
    state: oneOf(raw.state, ...RUN_STATES),
    origin: oneOf(raw.origin, ...ORIGINS),
    /** Edges that were seen since. */
    seen: time(raw.seen),
    /** Jobs that are left out, by how they recur. */
    hide: texts(raw.hide)?.filter((one) => (RECURRENCES as readonly string[]).includes(one)),
  });
export type Only = ReturnType<typeof only>;

export const lineage = (raw: Raw) =>
  some({
    ...only(raw),
    depth: number(raw.depth, 0, MAX_DEPTH),
    direction: oneOf<Direction>(raw.direction, "upstream", "downstream"),
    columns: flag(raw.columns),
    indirect: flag(raw.indirect),
    selected: text(raw.selected),
    field: text(raw.field),
    nodes: number(raw.nodes, 1, MOST_NODES),
    /** Jobs whose children are shown one by one. */
    open: texts(raw.open),
    fold: oneOf(raw.fold, "none"),
    group: oneOf(raw.group, ...GROUPS),
    /** The edge that is explained: its two ends. */
    edge: texts(raw.edge),
    /** Whether the slider of times is shown. */
    times: flag(raw.times),
    lens: oneOf(raw.lens, ...LENSES),
    /** Compare with the graph at this time. */
    since: time(raw.since),
    /** The other end of a path from the start. */
    to: text(raw.to),
    view: oneOf(raw.view, "table"),
    /** Of the table; absent: where the selected node is. */
    page: number(raw.page, 1, MOST_NODES),
    /** Of the table: the columns left out. */
    without: texts(raw.without),
    filter: text(raw.filter),
  });

/** `at`: the time that a calendar shows (older links say `month`); `instances`: the range that is chosen in it. */
const calendar = (raw: Raw) => ({ at: text(raw.at ?? raw.month), instances: text(raw.instances) });
export const dataset = (raw: Raw) =>
  some({
    from: text(raw.from),
    to: text(raw.to),
    /** Of the log: the column whose changes are listed. */
    column: text(raw.column),
    page: number(raw.page, 1, 1_000_000),
    ...calendar(raw),
  });
export const run = (raw: Raw) => some({ with: text(raw.with) });
export const entity = (raw: Raw) => some(calendar(raw));
export const incidents = (raw: Raw) => some({ kind: text(raw.kind), state: text(raw.state) });
/** `open`: packages and DAGs whose jobs are shown one by one. */
export const unfolded = (raw: Raw) => some({ open: texts(raw.open) });
export const changes = (raw: Raw) =>
  some({
    since: time(raw.since),
    until: time(raw.until),
    namespace: text(raw.namespace),
    author: text(raw.author),
    kind: oneOf(raw.kind, "datasets", "jobs"),
    page: number(raw.page, 1, 1_000_000),
  });
export const usage = (raw: Raw) =>
  some({
    ...table(raw),
    namespace: text(raw.namespace),
    status: text(raw.status),
    grain: text(raw.grain),
    class: text(raw.class),
  });
export const DO = ["drop", "rename", "retype", "sql"] as const;
export type Do = (typeof DO)[number];
export const whatif = (raw: Raw) =>
  some({
    /** The kind of change; absent: drop. */
    do: oneOf<Do>(raw.do, "rename", "retype", "sql"),
    /** A table, or a column as `t.c`. */
    of: text(raw.of),
    /** The new name or type. */
    to: text(raw.to),
    sql: text(raw.sql),
    dialect: text(raw.dialect),
  });
export const EFFECTS = ["breaks", "changes_values", "may_change", "cosmetic"] as const;
/** The review itself is behind the #. */
export const review = (raw: Raw) => some({ effect: oneOf(raw.effect, ...EFFECTS) });
export const privacy = (raw: Raw) => some({ tag: text(raw.tag) });
export const trace = (raw: Raw) => some({ id: text(raw.id) });
export const events = (raw: Raw) =>
  some({
    ...table(raw),
    producer: text(raw.producer),
    code: text(raw.code),
    run: text(raw.run),
    since: time(raw.since),
  });
export const settings = (raw: Raw) => some({ ...table(raw), actor: text(raw.actor) });
