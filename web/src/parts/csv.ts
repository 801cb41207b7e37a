// A list as a file that a spreadsheet opens.

interface Field<T> {
  header: string;
  value(row: T): string | number | null | undefined;
}

export function csvOf<T>(fields: readonly Field<T>[], rows: readonly T[]): string {
  const lines = [fields.map((field) => cell(field.header)).join(",")];
  for (const row of rows) lines.push(fields.map((field) => cell(field.value(row))).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

/** Quoted where needed. A text that a spreadsheet would run as a formula gets a quote before it. */
function cell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function saveFile(name: string, type: string, content: BlobPart) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveCsv<T>(name: string, fields: readonly Field<T>[], rows: readonly T[]) {
  saveFile(`${name.replaceAll(/[^\w.-]+/g, "-")}.csv`, "text/csv;charset=utf-8", `\ufeff${csvOf(fields, rows)}`);
}
