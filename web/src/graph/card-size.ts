// How large a card is and where its rows are. Fixed numbers, shared by the layout, the canvas and the style sheet
// (graph.css repeats them), so nothing has to be measured in the browser.
import type { ColumnLink, GraphNode } from "./model.ts";

export const DATASET_WIDTH = 228;
export const JOB_WIDTH = 204;
export const HEAD_HEIGHT = 50;
export const ROW_HEIGHT = 22;
export const ROWS_PADDING = 6;
export const ROWS_FOLDED = 12;

export interface Card {
  width: number;
  height: number;
  /** Indices into the node's fields, in the order shown. */
  rows: readonly number[];
  /** How many fields the folded card does not show. */
  folded: number;
  expandable: boolean;
}

const NO_ROWS: readonly number[] = [];

/** A folded wide table shows the columns that have lineage first, in the order of the schema. */
export function cardOf(
  node: GraphNode,
  columns: boolean,
  expanded: boolean,
  linked: ReadonlySet<string> | undefined,
): Card {
  const width = node.kind === "dataset" ? DATASET_WIDTH : JOB_WIDTH;
  const total = node.fields.length;
  if (!columns || total === 0) return { width, height: HEAD_HEIGHT, rows: NO_ROWS, folded: 0, expandable: false };
  const expandable = total > ROWS_FOLDED;
  let rows = Array.from({ length: total }, (_, i) => i);
  if (expandable && !expanded) {
    const first = rows.filter((i) => linked?.has(node.fields[i].name));
    const rest = rows.filter((i) => !linked?.has(node.fields[i].name));
    rows = [...first, ...rest].slice(0, ROWS_FOLDED).sort((a, b) => a - b);
  }
  const lines = rows.length + (expandable ? 1 : 0);
  return {
    width,
    height: HEAD_HEIGHT + ROWS_PADDING + lines * ROW_HEIGHT,
    rows,
    folded: total - rows.length,
    expandable,
  };
}

/** Height of a column's edges under the card's top; a folded column's edges end at the "more" row. */
export function rowAnchor(card: Card, node: GraphNode, field: string | null): number {
  if (field === null || card.rows.length === 0) return HEAD_HEIGHT / 2;
  const row = card.rows.findIndex((i) => node.fields[i].name === field);
  const known = row >= 0 || node.fields.some((f) => f.name === field);
  if (!known) return HEAD_HEIGHT / 2;
  return HEAD_HEIGHT + ROWS_PADDING / 2 + ROW_HEIGHT * ((row >= 0 ? row : card.rows.length) + 0.5);
}

/** The columns of each node that some link touches. */
export function linkedFields(links: readonly ColumnLink[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const add = (node: string, field: string | null) => {
    if (field === null) return;
    const fields = found.get(node);
    if (fields) fields.add(field);
    else found.set(node, new Set([field]));
  };
  for (const link of links) {
    add(link.source, link.sourceField);
    add(link.target, link.targetField);
  }
  return found;
}
