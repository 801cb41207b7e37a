// The stretch of time that a calendar shows: a day, a month, a year or ten years, each written as the server reads it. Pure.

export const SPANS = ["day", "month", "year", "decade"] as const;
export type Span = (typeof SPANS)[number];

export const SPAN_WORDS: Record<Span, string> = { day: "Day", month: "Month", year: "Year", decade: "Ten years" };

/** The spans that show instances of a period (`15m, UTC`, `day, Europe/Paris`) at a legible size; the first is where it opens. */
export function spansOf(period: string): readonly Span[] {
  const unit = /^\d*\s*([a-z]+)/.exec(period)?.[1] ?? "";
  if (unit === "m" || unit === "minute") return ["day", "month"];
  if (unit === "h" || unit === "hour") return ["month", "year"];
  if (unit === "d" || unit === "day") return ["year", "month", "decade"];
  if (/^(w|week|mo|month|q|quarter|y|year)$/.test(unit)) return ["decade", "year"];
  return ["month", "day", "year"];
}

/** `2024-03-06` is a day, `2024-03` a month, `2024` a year, `2015..2024` ten years; null for anything else. */
export function spanOf(at: string | undefined): Span | null {
  if (!at) return null;
  if (/^\d{4}-\d\d-\d\d$/.test(at)) return "day";
  if (/^\d{4}-\d\d$/.test(at)) return "month";
  if (/^\d{4}$/.test(at)) return "year";
  return /^\d{4}\.\.\d{4}$/.test(at) ? "decade" : null;
}

/** The stretch of this span that holds a date (`2024-03-06`). */
export function around(span: Span, date: string): string {
  if (span === "day") return date.slice(0, 10);
  if (span === "month") return date.slice(0, 7);
  const year = Number(date.slice(0, 4));
  return span === "year" ? date.slice(0, 4) : `${yearText(year - 9)}..${yearText(year)}`;
}

/** A date within a stretch: its first day; of ten years, that of the last. */
export function dateIn(at: string): string {
  const [year, month = "01", day = "01"] = at.slice(at.indexOf("..") === -1 ? 0 : at.indexOf("..") + 2).split("-");
  return `${year}-${month}-${day}`;
}

/** The stretch after (`by` 1) or before (−1). */
export function moved(at: string, by: number): string {
  const span = spanOf(at);
  if (span === "day" || span === "month") {
    const [year, month, day = 1] = at.split("-").map(Number);
    const next = span === "day" ? Date.UTC(year, month - 1, day + by) : Date.UTC(year, month - 1 + by, 1);
    return around(span, new Date(next).toISOString());
  }
  const [from, to] = at.split("..").map(Number);
  return to === undefined ? yearText(from + by) : `${yearText(from + 10 * by)}..${yearText(to + 10 * by)}`;
}

const yearText = (year: number) => String(Math.max(1, year)).padStart(4, "0");

/** The date in the text of an instance, or that of its start where the text has none (`2024-W10`), else the first of its year; null without. */
export function dateOf(instance: string, start: string | null): string | null {
  if (start && /^\d{4}-[WQ]/.test(instance)) return start.slice(0, 10);
  const written = /^(\d{4})(?:-(\d\d))?(?:-(\d\d))?/.exec(instance);
  return written ? `${written[1]}-${written[2] ?? "01"}-${written[3] ?? "01"}` : (start?.slice(0, 10) ?? null);
}
