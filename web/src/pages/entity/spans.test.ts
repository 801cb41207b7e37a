import fc from "fast-check";
import { expect, test } from "vitest";
import { around, dateIn, dateOf, moved, SPANS, spanOf, spansOf } from "./spans.ts";

test("each period opens at a size at which its parts can be told apart", () => {
  const first = (period: string) => spansOf(period)[0];
  expect(
    ["15m, UTC", "minute, UTC", "hour, UTC", "6h, Europe/Paris", "day, UTC", "3d, UTC", "week, UTC", "2w, UTC"].map(
      first,
    ),
  ).toEqual(["day", "day", "month", "month", "year", "year", "decade", "decade"]);
  expect(
    ["month, UTC", "2mo, UTC", "quarter, UTC", "year, UTC", "cron 0 6 * * *, UTC", "table, UTC"].map(first),
  ).toEqual([...["decade", "decade", "decade", "decade"], ...["month", "month"]]);
});

test("a stretch that holds a date is read back as its span, holds its own date, and moves there and back", () => {
  const days = fc.date({ min: new Date("0100-01-01"), max: new Date("9000-01-01"), noInvalidDate: true });
  fc.assert(
    fc.property(days, fc.constantFrom(...SPANS), fc.integer({ min: 1, max: 40 }), (day, span, by) => {
      const at = around(span, day.toISOString());
      expect(spanOf(at)).toBe(span);
      expect(around(span, dateIn(at))).toBe(at);
      let there = at;
      for (let i = 0; i < by; i++) there = moved(there, 1);
      expect(there > at).toBe(true);
      for (let i = 0; i < by; i++) there = moved(there, -1);
      expect(there).toBe(at);
    }),
  );
});

test("what is no stretch of time has no span", () => {
  for (const at of [undefined, "", "x", "2024-3", "2024-03-", "2024..", "..2024", "2024-W10", "*"])
    expect(spanOf(at)).toBeNull();
});

test("the date of a part is that of its own zone, and of a week its Monday", () => {
  expect(dateOf("2025-10-26T02+02:00", "2025-10-26T00:00:00Z")).toBe("2025-10-26");
  expect(dateOf("2025-10-26T00+02:00", "2025-10-25T22:00:00Z")).toBe("2025-10-26");
  expect(dateOf("2024-W10", "2024-03-04T00:00:00Z")).toBe("2024-03-04");
  expect(dateOf("2024-W10", null)).toBe("2024-01-01");
  expect(dateOf("2024-Q2", "2024-04-01T00:00:00Z")).toBe("2024-04-01");
  expect(dateOf("2024-03", null)).toBe("2024-03-01");
  expect(dateOf("*", null)).toBeNull();
});
