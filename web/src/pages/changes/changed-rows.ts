// Rows of what appeared and what went, narrowed and paged as the address says. Pure.
import { PAGE } from "../../search-params.ts";

export const CHANGES = ["appeared", "went"] as const;
export type Change = (typeof CHANGES)[number];

export type Changed<T> = T & { change: Change };

/** What went stands first: something may have relied on it. */
export function changedRows<T extends object>(added: readonly T[], removed: readonly T[]): Changed<T>[] {
  return [
    ...removed.map((one) => ({ ...one, change: "went" as const })),
    ...added.map((one) => ({ ...one, change: "appeared" as const })),
  ];
}

/** The rows of one page, from 1. */
export function pageOf<T>(rows: readonly T[], page = 1): readonly T[] {
  return rows.slice((page - 1) * PAGE, page * PAGE);
}
