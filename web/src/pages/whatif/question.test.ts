import { expect, test } from "vitest";
import type { Answer } from "../../api/client.ts";
import { changeOf, commandOf, questionOf, verdictOf, warningOf } from "./question.ts";

const NOTHING: Answer<"/api/v2/whatif", "post"> = {
  severity: null,
  changes: [{ action: "drop_column", dataset: "dataset:shop:orders", column: "amount", to: null, old_type: null }],
  unknown: [],
  unjudged: [],
  columns: [],
  jobs: [],
  views: [],
  dashboards: [],
  entities: [],
  people: [],
  pipelines: [],
  warn: [],
  hidden: 0,
};
const job = (severity: string, certain: boolean) => ({
  ...{ id: "job:shop:a", label: "a", severity, reason: "", certain, statement: null, columns: [], view: null },
  ...{ executions: null, last_at: null },
});

test("an address asks one thing, or nothing while a part is missing", () => {
  expect(questionOf({})).toBeNull();
  expect(questionOf({ of: " shop.orders.amount " })).toEqual({ drop: "shop.orders.amount" });
  expect(questionOf({ do: "rename", of: "t.c" })).toBeNull();
  expect(questionOf({ do: "rename", of: "dataset:a:t.c", to: "d" })).toEqual({ rename: "dataset:a:t.c:d" });
  expect(questionOf({ do: "retype", of: "t.c", to: "decimal(10,2)" })).toEqual({ retype: "t.c:decimal(10,2)" });
  expect(questionOf({ do: "sql", of: "t" })).toBeNull();
  expect(questionOf({ do: "sql", sql: "drop table t" })).toEqual({ sql: "drop table t", dialect: "" });
});

test("the command asks the same, whatever is in it", () => {
  expect(commandOf({ drop: "t.c" })).toBe("headwater whatif --drop 't.c'");
  expect(commandOf({ sql: "delete from t where a = 'x'", dialect: "snowflake" })).toBe(
    `headwater whatif 'delete from t where a = '\\''x'\\''' --dialect 'snowflake'`,
  );
});

test("the verdict never says more than is known", () => {
  expect(verdictOf({ ...NOTHING, changes: [] })).toBe("The SQL changes no table that the server knows.");
  expect(verdictOf(NOTHING)).toBe("Nothing notices, as far as the server knows.");
  const unjudged = [{ text: "drop type shop.mood", reason: "the columns that use the type are not known" }];
  expect(verdictOf({ ...NOTHING, unjudged })).toBe("Nothing notices what was judged.");
  expect(verdictOf({ ...NOTHING, changes: [], unjudged })).toBe(
    "The SQL changes something of which not all users are known.",
  );
  const jobs = [job("breaks", true), job("breaks", false), job("cosmetic", true)];
  expect(verdictOf({ ...NOTHING, severity: "breaks", jobs, views: ["dataset:shop:v"] })).toBe(
    "2 jobs would break, 1 of them perhaps; 1 view would not compile.",
  );
  expect(verdictOf({ ...NOTHING, severity: "cosmetic", jobs: [job("cosmetic", true)] })).toBe("No job breaks.");
});

test("a change names its old type only where the type changes", () => {
  const one = { dataset: "dataset:shop:orders", column: "amount", old_type: "int" };
  expect(changeOf({ ...one, action: "rename_column", to: "value" })).toBe("rename column shop:orders.amount to value");
  expect(changeOf({ ...one, action: "retype_column", to: "text" })).toBe(
    "retype column shop:orders.amount from int to text",
  );
});

test("who is warned reads why, and how much more there is", () => {
  const warn = [{ who: "ana", role: "owner", severity: "changes_values", because: ["dataset:shop:b"], more: 3 }];
  expect(warningOf({ ...NOTHING, warn })).toBe(
    "Planned: drop column shop:orders.amount.\nana (owner): changes values: dataset:shop:b and 3 more",
  );
});
