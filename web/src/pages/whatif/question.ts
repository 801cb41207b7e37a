// The address of the page as the server's question, and the words of its answer.
import type { Answer, Arguments } from "../../api/client.ts";
import { plural } from "../../format.ts";
import { bareName } from "../../names.ts";
import type { whatif } from "../../search-params.ts";

export type WhatIfSearch = ReturnType<typeof whatif>;
type WhatIf = Answer<"/api/v2/whatif", "post">;
type Question = NonNullable<Arguments<"/api/v2/whatif", "post">["body"]>;

/** The question of an address; null while something is missing. */
export function questionOf({
  do: kind = "drop",
  of = "",
  to = "",
  sql = "",
  dialect = "",
}: WhatIfSearch): Question | null {
  if (kind === "sql") return sql.trim() ? { sql, dialect } : null;
  const what = of.trim();
  if (!what) return null;
  if (kind === "drop") return { drop: what };
  return to.trim() ? { [kind]: `${what}:${to.trim()}` } : null;
}

/** The same question on the command line. */
export function commandOf(question: Question): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  if (question.sql != null)
    return `headwater whatif ${quoted(question.sql)}${question.dialect ? ` --dialect ${quoted(question.dialect)}` : ""}`;
  const [option, value] = Object.entries(question)[0]!;
  return `headwater whatif --${option} ${quoted(String(value))}`;
}

/** The answer in one sentence. */
export function verdictOf(answer: WhatIf): string {
  if (answer.changes.length === 0 && answer.jobs.length === 0)
    return answer.unjudged.length > 0
      ? "The SQL changes something of which not all users are known."
      : "The SQL changes no table that the server knows.";
  const breaking = answer.jobs.filter((job) => job.severity === "breaks");
  const unsure = breaking.filter((job) => !job.certain).length;
  const datasets = new Set(answer.columns.map((column) => column.dataset)).size;
  if (answer.severity === null && datasets === 0)
    return answer.unjudged.length > 0
      ? "Nothing notices what was judged."
      : "Nothing notices, as far as the server knows.";
  const parts = [
    breaking.length === 0
      ? "No job breaks"
      : `${plural(breaking.length, "job")} would break${unsure ? `, ${unsure === breaking.length ? "all" : unsure} of them perhaps` : ""}`,
    answer.views.length > 0 && `${plural(answer.views.length, "view")} would not compile`,
    datasets > 0 && `${plural(datasets, "dataset")} downstream would hold other values or none`,
    answer.warn.length > 0 &&
      `${answer.warn.length === 1 ? "one person or team" : `${answer.warn.length} people and teams`} to warn`,
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}

/** The list to warn, as a text to send. */
export const warningOf = (answer: WhatIf): string =>
  [
    `Planned: ${answer.changes.map(changeOf).join("; ")}.`,
    ...answer.warn.map(
      (one) =>
        `${one.who} (${one.role}): ${wordOf(one.severity)}: ${one.because.join(", ")}${one.more ? ` and ${one.more} more` : ""}`,
    ),
  ].join("\n");

export const wordOf = (severity: string) => severity.replaceAll("_", " ");

export function changeOf({ action, dataset, column, to, old_type }: WhatIf["changes"][number]): string {
  const place = column === null ? bareName(dataset) : `${bareName(dataset)}.${column}`;
  const before = action === "retype_column" && old_type ? ` from ${old_type}` : "";
  return `${wordOf(action)} ${place}${before}${to ? ` to ${to}` : ""}`;
}
