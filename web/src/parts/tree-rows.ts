// Packages, DAGs and their runs in a list: a parent stands for what is directly below it until it is opened. Pure.

/** A row of the list, and how far it is below the list's own rows. */
export interface TreeRow<T> {
  item: T;
  depth: number;
  /** How many are directly below it. */
  children: number;
  isOpen: boolean;
  /** How many of those directly below it are not listed, though it is open. */
  left: number;
}

export interface Level<T> {
  rows: readonly T[];
  children: Readonly<Record<string, number>>;
  /** How many there are; absent: all are in `rows`. */
  total?: number;
}

/** The rows of a page, each open parent followed by what is below it. `above`: those that it is below, so that none contains itself. */
export function withChildren<T extends { id: string }>(
  page: Level<T>,
  below: ReadonlyMap<string, Level<T>>,
  above: readonly string[] = [],
): TreeRow<T>[] {
  return page.rows.flatMap((item) => {
    const level = above.includes(item.id) ? undefined : below.get(item.id);
    const row = {
      item,
      depth: above.length,
      children: above.includes(item.id) ? 0 : (page.children[item.id] ?? 0),
      isOpen: level !== undefined,
      left: level?.total === undefined ? 0 : level.total - level.rows.length,
    };
    return level ? [row, ...withChildren(level, below, [...above, item.id])] : [row];
  });
}

/** A list that holds parents and children alike: those whose parent is in it are below that. */
export function foldWithin<T extends { id: string }>(
  rows: readonly T[],
  parentOf: (row: T) => string | null,
  open: ReadonlySet<string>,
): TreeRow<T>[] {
  const ids = new Set(rows.map((row) => row.id));
  const children = new Map<string, T[]>();
  const top: T[] = [];
  for (const row of rows) {
    const parent = parentOf(row);
    if (parent === null || parent === row.id || !ids.has(parent)) top.push(row);
    else children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  const counts = Object.fromEntries([...children].map(([id, some]) => [id, some.length]));
  const level = (some: readonly T[]): Level<T> => ({ rows: some, children: counts });
  const below = new Map([...children].filter(([id]) => open.has(id)).map(([id, some]) => [id, level(some)]));
  return withChildren(level(top), below);
}
