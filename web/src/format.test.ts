import { expect, test } from "vitest";
import { ago, bytes, duration, exact, plural } from "./format.ts";

const now = Date.parse("2026-11-21T12:00:00Z");

test("ago", () => {
  expect(ago("2026-11-21T11:59:50Z", now)).toBe("just now");
  expect(ago("2026-11-21T09:00:00Z", now)).toBe("3 hr. ago");
  expect(ago(null, now)).toBe("never");
  expect(ago("not a time", now)).toBe("never");
});

test("exact", () => {
  expect(exact("2026-11-21T09:00:00.5+01:00")).toBe("2026-11-21 08:00:00 UTC");
});

test("duration", () => {
  expect([0, 999, 5120, 65_000, 7_260_000, null].map(duration)).toEqual([
    "0 ms",
    "999 ms",
    "5.1 s",
    "1 min 5 s",
    "2 h 1 min",
    "–",
  ]);
});

test("a duration never shows 60 seconds or 60 minutes", () => {
  expect([59_600, 119_700, 7_199_000].map(duration)).toEqual(["1 min 0 s", "2 min 0 s", "2 h 0 min"]);
});

test("bytes", () => {
  expect([0, 999, 1500, 29_000_000].map(bytes)).toEqual(["0 B", "999 B", "1.5 kB", "29 MB"]);
});

test("plural", () => {
  expect([plural(1, "node"), plural(2000, "node"), plural(0, "entity", "entities")]).toEqual([
    "1 node",
    "2,000 nodes",
    "0 entities",
  ]);
});
