// Names as one segment of a path: `file:/data/clean` is `file:~data~clean`. Readable, and without `%2F`, which routers
// and proxies decode, refuse or split at.

/** Signs that mean something in a path, or here. */
const SPECIAL = /[!~%\\?#]/g;

export function toPath(name: string): string {
  const escaped = name
    .replace(SPECIAL, (sign) => `!${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("/", "~");
  // As a whole segment these would lead elsewhere.
  return escaped === "." || escaped === ".." ? escaped.replaceAll(".", "!2E") : escaped;
}

export const fromPath = (segment: string): string =>
  segment
    .replaceAll("~", "/")
    .replace(/!([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
