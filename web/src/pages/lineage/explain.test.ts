import { expect, test } from "vitest";
import { explainEdge, explainLink } from "./explain.ts";
import { momentsOf } from "./moments.ts";

const edge = {
  source: "dataset:n:a",
  target: "job:n:j",
  origin: "OBSERVED",
  first_seen: "2026-01-01T00:00:00.5Z",
  last_seen: "2026-01-02T00:00:00Z",
  relation: "READ",
  claims: [{ origin: "OBSERVED", evidence: "TOLD", by: "job:n:j", since: "2026-01-01T00:00:00Z" }],
  refused: false,
  intermittent: false,
  parts: [],
  count: 1,
  via: 0,
};

test("an edge says who claims it, on what evidence, since when and until when", () => {
  expect(explainEdge(edge, new Map([["dataset:n:a", "a"]]))).toEqual([
    "a → n:j",
    "reads · seen in runs",
    "n:j: reported by events, since 2026-01-01 00:00:00 UTC",
    "last seen 2026-01-02 00:00:00 UTC",
    "Click for the SQL and the columns",
  ]);
});

test("what rests on a guess says so", () => {
  const guess = { ...edge, claims: [{ ...edge.claims[0], evidence: "DERIVED" }] };
  expect(explainEdge(guess, new Map())[2]).toContain("guessed from when a run began");
});

test("an edge that only some runs reported says so", () => {
  expect(explainEdge({ ...edge, intermittent: true }, new Map())[2]).toContain("not by every run");
});

test("a column link says how the column was made and by which job", () => {
  const link = {
    source: "dataset:n:a",
    sourceField: "x",
    target: "dataset:n:b",
    targetField: "y",
    job: "job:n:j",
    indirect: false,
  };
  const column = {
    source: "dataset:n:a", source_field: "x", target: "dataset:n:b", target_field: "y", job: "job:n:j", origin: "OBSERVED",
    transformations: [{ type: "DIRECT", subtype: "AGGREGATION", masking: true, description: null }],
  }; // prettier-ignore
  expect(explainLink(link, [column, { ...column, job: "job:n:k" }], new Map())).toEqual([
    "n:a.x → n:b.y",
    "direct aggregation masked · seen in runs · by n:j",
    "Click for the SQL",
  ]);
});

test("moments are the seconds from which edges are there, each once", () => {
  const now = Date.parse("2026-01-03T00:00:00Z");
  expect(momentsOf([edge, edge, { first_seen: null }, { first_seen: "2026-02-01T00:00:00Z" }], now)).toEqual([
    Date.parse("2026-01-01T00:00:01Z"),
  ]);
});
