// The evidence of an advice to remove a dataset, in words. Headwater's own reader of logs sends JSON; others may send any text.
import { count, exact, money, percent, plural } from "../../format.ts";

type Evidence = Record<string, unknown>;

const numberOf = (evidence: Evidence, key: string) => {
  const value = evidence[key];
  return value === null || value === undefined || !Number.isFinite(Number(value)) ? null : Number(value);
};
const textOf = (evidence: Evidence, key: string) => (typeof evidence[key] === "string" ? evidence[key] : null);

/** One phrase for each thing that the log tells; a text that is no JSON is its own one phrase. */
export function phrasesOf(text: string): string[] {
  let evidence: Evidence;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [text];
    evidence = value as Evidence;
  } catch {
    return text ? [text] : [];
  }
  const [days, writes, pipelines, feeds] = ["log_days", "writes", "pipeline_reads", "feeds"].map((key) =>
    numberOf(evidence, key),
  );
  const first = textOf(evidence, "feeds_first");
  const read = textOf(evidence, "last_read_at");
  const by = textOf(evidence, "last_read_by");
  const hidden = numberOf(evidence, "hidden");
  const seen = textOf(evidence, "first_seen_at");
  const written = textOf(evidence, "last_written_at");
  const storage = numberOf(evidence, "money_storage");
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
