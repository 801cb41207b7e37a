// What an edge rests on, in words: who says so, since when, on what evidence. Pure.
import type { LineageAnswer } from "../../api/types.ts";
import { exact, plural } from "../../format.ts";
import type { ColumnLink } from "../../graph/model.ts";
import { bareName } from "../../names.ts";

type Edge = LineageAnswer["edges"][number];
export type ColumnEdge = LineageAnswer["column_edges"][number];

const ORIGINS: Record<string, string> = {
  OBSERVED: "seen in runs",
  DECLARED: "declared, not seen in a run",
  MANUAL: "drawn by a person",
  PARSED_SQL: "read from the job's SQL, which reports no dataset",
  SCHEDULE: "by the schedule",
};
const EVIDENCE: Record<string, string> = {
  TOLD: "reported by events",
  EXPLICIT: "explicit lineage",
  DERIVED: "guessed from when a run began",
  SQL_FULL: "the text is understood in full",
  SQL_PARTIAL: "a part of the text is guessed",
  SQL_TABLES: "the text could not be parsed: tables are read off its words",
  UNKNOWN: "the version is not known",
};
const RELATIONS: Record<string, string> = {
  READ: "reads",
  WROTE: "writes",
  FEEDS: "feeds",
  CAUSED: "caused",
  IS: "is the same data",
  PART: "is a part of",
  NEEDS: "is needed by",
  MADE: "made",
};

export const originWord = (origin: string) => ORIGINS[origin] ?? origin.toLowerCase();
export const evidenceWord = (evidence: string) => EVIDENCE[evidence] ?? evidence.toLowerCase();
export const relationWord = (relation: string) => RELATIONS[relation] ?? relation.toLowerCase();

export function transformationWords(edge: Pick<ColumnEdge, "transformations">): string {
  const words = edge.transformations.map((one) =>
    [one.type.toLowerCase(), one.subtype?.toLowerCase().replaceAll("_", " "), one.masking && "masked"]
      .filter(Boolean)
      .join(" "),
  );
  return [...new Set(words)].join(", ");
}

/** Lines for the label under the pointer. `names`: what the drawing calls the nodes. */
export function explainEdge(edge: Edge, names: ReadonlyMap<string, string>): string[] {
  const name = (id: string) => names.get(id) ?? bareName(id);
  const lines = [`${name(edge.source)} → ${name(edge.target)}`];
  if (edge.count > 1) lines.push(`${plural(edge.count, "edge")} drawn as one`);
  if (edge.via > 0) lines.push(`by way of ${plural(edge.via, "node")} that filters leave out`);
  lines.push(`${relationWord(edge.relation)} · ${originWord(edge.origin)}`);
  if (edge.intermittent) lines.push("not by every run: some of the job's latest runs reported it, others did not");
  for (const claim of edge.claims.slice(0, 4))
    lines.push(
      `${claim.by ? name(claim.by) : "a person"}: ${evidenceWord(claim.evidence)}${claim.since ? `, since ${exact(claim.since)}` : ""}`,
    );
  if (edge.claims.length > 4) lines.push(`and ${plural(edge.claims.length - 4, "other source")}`);
  if (edge.first_seen && edge.claims.length === 0) lines.push(`since ${exact(edge.first_seen)}`);
  if (edge.last_seen) lines.push(`last seen ${exact(edge.last_seen)}`);
  lines.push("Click for the SQL and the columns");
  return lines;
}

export function explainLink(
  link: ColumnLink,
  edges: readonly ColumnEdge[],
  names: ReadonlyMap<string, string>,
): string[] {
  const name = (id: string) => names.get(id) ?? bareName(id);
  const end = (id: string, field: string | null) => (field ? `${name(id)}.${field}` : name(id));
  const lines = [`${end(link.source, link.sourceField)} → ${end(link.target, link.targetField)}`];
  const same = edges.filter(
    (edge) =>
      edge.source === link.source &&
      edge.target === link.target &&
      edge.source_field === link.sourceField &&
      edge.target_field === link.targetField &&
      (link.job === null || edge.job === link.job),
  );
  for (const edge of same.slice(0, 3)) {
    const words = transformationWords(edge);
    lines.push(`${words || "a dependency of unknown kind"} · ${originWord(edge.origin)} · by ${name(edge.job)}`);
  }
  lines.push("Click for the SQL");
  return lines;
}
