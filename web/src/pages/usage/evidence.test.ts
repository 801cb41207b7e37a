import { expect, test } from "vitest";
import { phrasesOf } from "./evidence.ts";

test("what the log's reader sends is said in words", () => {
  const evidence = {
    ...{
      first_seen_at: "2026-08-01T00:00:00Z",
      last_written_at: "2026-11-01T04:00:00Z",
      writes: 30,
      pipeline_reads: 0,
    },
    ...{ feeds: 3, feeds_first: "dead.b", money_storage: 1, log_days: 90, hidden: 0.02 },
  };
  expect(phrasesOf(JSON.stringify(evidence))).toEqual([
    "90 days of log",
    "no read but to write others",
    "30 writes",
    expect.stringMatching(/^last written .*2026/),
    "feeds dead.b and 2 more",
    "1 a month to keep",
    "2 % of what ran could hide a read",
    expect.stringMatching(/^first seen .*2026/),
  ]);
  expect(phrasesOf('{"last_read_at":"2026-09-01T00:00:00Z","last_read_by":"ann","feeds":2}')).toEqual([
    expect.stringMatching(/^last read .*2026.* by ann$/),
    "feeds 2 datasets",
  ]);
});

test("any other text stays as it is", () => {
  expect(phrasesOf("no read in 90 days")).toEqual(["no read in 90 days"]);
  expect(phrasesOf("[1]")).toEqual(["[1]"]);
  expect(phrasesOf("")).toEqual([]);
});
