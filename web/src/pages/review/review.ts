// A review as `headwater review --json` prints it: checked before it is drawn, and packed into the address, where the server never sees it.

import { count } from "../../format.ts";
import type { EFFECTS } from "../../search-params.ts";

export type Effect = (typeof EFFECTS)[number];

export interface Affected {
  place: string;
  line: number;
  table: string;
  severity: Effect;
  reason: string;
  columns: string[];
  certain: boolean;
  edited: boolean;
  path: string[];
  /** Of the table, as its model or the server's tag has it; "" or none without one. */
  tier?: string;
}
export interface Changed {
  action: string;
  table: string;
  column: string;
  to: string;
  place: string;
}
export interface Party {
  kind: string;
  name: string;
  severity: string;
  because: string[];
  runs: number | null;
  last_at: string | null;
}
export interface Cost {
  table: string;
  money: number | null;
  keep_month: number | null;
  executions: number;
}
/** A policy that the branch would break, and the tables and columns that lead there. */
export interface BrokenPolicy {
  policy: string;
  place: string;
  line: number;
  table: string;
  column: string | null;
  path: string[];
}
export interface Review {
  severity: string | null;
  changes: Changed[];
  affected: Affected[];
  same: string[];
  texts: number;
  problems: string[];
  fails: number;
  policies: BrokenPolicy[];
  noticed?: { parties: Party[]; costs: Cost[]; unknown: string[]; unasked: number };
}

/** Addresses longer than this are cut by programs that send them on. */
export const MOST_CHARACTERS = 1_000_000;

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");
const isRows = (value: unknown, ...texts: string[]): value is Record<string, unknown>[] =>
  Array.isArray(value) &&
  value.every(
    (one: unknown) =>
      typeof one === "object" &&
      one !== null &&
      texts.every((key) => typeof (one as Record<string, unknown>)[key] === "string"),
  );

/** The review in a text; throws an Error that says what is wrong with it. */
export function readReview(text: string): Review {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("This is not JSON. Write it with: headwater review --json > review.json");
  }
  const found = value as Partial<Review> | null;
  const isReview =
    typeof found === "object" &&
    found !== null &&
    typeof found.texts === "number" &&
    isTexts(found.same) &&
    isRows(found.changes, "action", "table", "column", "to") &&
    isRows(found.affected, "place", "table", "severity", "reason") &&
    found.affected.every((one) => isTexts(one.columns) && isTexts(one.path));
  if (!isReview) throw new Error("This JSON is not a review. Write it with: headwater review --json > review.json");
  const noticed = found.noticed;
  const isNoticed =
    noticed === undefined ||
    (isRows(noticed.parties, "kind", "name", "severity") &&
      noticed.parties.every((one) => isTexts(one.because)) &&
      isRows(noticed.costs, "table") &&
      isTexts(noticed.unknown));
  if (!isNoticed) throw new Error("The part `noticed` of this review is not as headwater review writes it.");
  const policies = found.policies;
  if (
    policies !== undefined &&
    !(isRows(policies, "policy", "place", "table") && policies.every((one) => isTexts(one.path)))
  )
    throw new Error("The part `policies` of this review is not as headwater review writes it.");
  return { problems: [], fails: 0, policies: [], ...found } as Review;
}

/** The same sentence as that of the comment. */
export function summaryOf({ severity, same, texts, affected }: Review): string {
  if (severity === null)
    return same.length > 0
      ? `Nothing changes in ${count(same.length)} edited texts of ${count(texts)}: comments or layout only.`
      : "Nothing changes.";
  const of = (effect: Effect) => affected.filter((one) => one.severity === effect).length;
  const parts = [`${count(of("breaks"))} would break`, `${count(of("changes_values"))} would hold other values`];
  if (of("may_change") > 0) parts.push(`${count(of("may_change"))} may on other data`);
  if (of("cosmetic") > 0) parts.push(`${count(of("cosmetic"))} cosmetic`);
  return `${parts.join(", ")}, of ${count(texts)} texts.`;
}

export const changeOf = ({ action, table, column, to }: Changed): string =>
  `${action.replaceAll("_", " ")} ${column ? `${table}.${column}` : table}${to ? ` to ${to}` : ""}`;

/** The question about a change on the What if page; null for one that breaks nothing by itself. */
export function questionOf({ action, table, column, to }: Changed): Record<string, string> | null {
  const of = column ? `${table}.${column}` : table;
  if (action === "drop_table" || action === "drop_column") return { of };
  return action === "rename_column" ? { do: "rename", of, to } : null;
}

export async function pack(text: string): Promise<string> {
  const packed = new Uint8Array(await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw")));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text of an address; throws an Error if a part of it is missing. */
export async function unpack(address: string): Promise<string> {
  try {
    const binary = atob(address.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
  } catch {
    throw new Error("This address does not hold a whole review: it may have been cut. Open the file again.");
  }
}

function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
): Promise<ArrayBuffer> {
  return new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer();
}
