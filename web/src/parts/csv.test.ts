import { expect, test } from "vitest";
import { csvOf } from "./csv.ts";

test("quotes what a comma, a quote or a line break is in, and disarms formulas", () => {
  const fields = [
    { header: "name", value: (row: [string, number | null]) => row[0] },
    { header: "rows", value: (row: [string, number | null]) => row[1] },
  ];
  expect(
    csvOf(fields, [
      ['a,"b"', 1],
      ["=1+1", null],
      ["x\ny", -2],
    ]),
  ).toBe('name,rows\r\n"a,""b""",1\r\n\'=1+1,\r\n"x\ny",-2\r\n');
});
