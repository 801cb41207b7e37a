// Times, durations and amounts as people read them; the exact value is always in the tooltip.

const UNITS: [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

export function ago(iso: string | null, now: number = Date.now()): string {
  const at = iso ? Date.parse(iso) : Number.NaN;
  if (Number.isNaN(at)) return "never";
  const seconds = (at - now) / 1000;
  for (const [unit, size] of UNITS)
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  return seconds > 1 ? "in a moment" : "just now";
}

/** To the second: in UTC, or in the reader's own zone. */
export function exact(iso: string | null, zone?: "local"): string {
  const at = iso ? Date.parse(iso) : Number.NaN;
  if (Number.isNaN(at)) return "";
  if (zone !== "local") return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const shift = -new Date(at).getTimezoneOffset();
  const local = new Date(at + shift * 60_000).toISOString().slice(0, 19).replace("T", " ");
  const hours = Math.floor(Math.abs(shift) / 60);
  const minutes = Math.abs(shift) % 60;
  return `${local} ${shift < 0 ? "−" : "+"}${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`;
}

export function duration(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  const minutes = Math.round(s / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const whole = new Intl.NumberFormat("en");

export const count = (n: number | null) => (n === null ? "–" : whole.format(n));

export function bytes(n: number | null): string {
  if (n === null) return "–";
  let value = n;
  let unit = 0;
  const names = ["B", "kB", "MB", "GB", "TB", "PB"];
  while (value >= 1000 && unit < names.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value.toFixed(unit && value < 10 ? 1 : 0)} ${names[unit]}`;
}

export function shortNamespace(namespace: string): string {
  const bare = namespace.replace(/^[a-z0-9+.-]+:\/\//i, "");
  const scheme = /^([a-z0-9+.-]+):\/\//i.exec(namespace)?.[1];
  const short = bare.length > 34 ? `${bare.slice(0, 16)}…${bare.slice(-16)}` : bare;
  return scheme ? `${scheme} · ${short}` : short;
}

/** "1 node", "2 nodes". */
export const plural = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export const percent = (share: number | null) => (share === null ? "–" : `${Math.round(share * 1000) / 10} %`);

export function money(amount: number | null): string {
  if (amount === null) return "–";
  return new Intl.NumberFormat("en", { maximumFractionDigits: amount < 10 ? 2 : 0 }).format(amount);
}
