// The evidence of an advice to remove a dataset, in words. Headwater's own reader of logs sends JSON; others may send any text.
import { count, exact, money, percent, plural } from "../../format.ts";

type Told = Record<string, unknown>;

const numberOf = (told: Told, key: string) => {
  const value = told[key];
  return value === null || value === undefined || !Number.isFinite(Number(value)) ? null : Number(value);
};
const textOf = (told: Told, key: string) => (typeof told[key] === "string" ? told[key] : null);

/** One phrase for each thing that the log tells; a text that is no JSON is its own one phrase. */
export function phrasesOf(evidence: string): string[] {
  let told: Told;
  try {
    const value: unknown = JSON.parse(evidence);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [evidence];
    told = value as Told;
  } catch {
    return evidence ? [evidence] : [];
  }
  const [days, writes, pipelines, feeds] = ["log_days", "writes", "pipeline_reads", "feeds"].map((key) =>
    numberOf(told, key),
  );
  const first = textOf(told, "feeds_first");
  const read = textOf(told, "last_read_at");
  const by = textOf(told, "last_read_by");
  const hidden = numberOf(told, "hidden");
  const seen = textOf(told, "first_seen_at");
  const written = textOf(told, "last_written_at");
  const storage = numberOf(told, "money_storage");
  const phrases = [
    days !== null && `${plural(days!, "day")} of log`,
    read ? `last read ${exact(read)}${by ? ` by ${by}` : ""}` : "no read but to write others",
    writes !== null && plural(writes!, "write"),
    written && `last written ${exact(written)}`,
    pipelines ? `${plural(pipelines, "read")} by pipelines` : null,
    feeds
      ? `feeds ${first ?? ""}${first && feeds > 1 ? ` and ${count(feeds - 1)} more` : first ? "" : plural(feeds, "dataset")}`
      : null,
    storage !== null && `${money(storage)} a month to keep`,
    hidden ? `${percent(hidden)} of what ran could hide a read` : null,
    seen && `first seen ${exact(seen)}`,
  ];
  return phrases.filter((phrase): phrase is string => Boolean(phrase));
}
