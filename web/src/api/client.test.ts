import { expect, test } from "vitest";
import { ApiError } from "./client.ts";

test.each([
  ["no answer", 0, "unreachable", true, true],
  ["a proxy whose server is away", 502, "not_json", true, true],
  ["a server whose database is away", 503, "unavailable", false, true],
  ["a server that refuses", 403, "forbidden", false, false],
  ["a server that failed without JSON", 500, "not_json", false, false],
])("%s: the server is away, or asked again later", (_, status, code, unreachable, passing) => {
  const error = new ApiError("", status, code);
  expect([error.unreachable, error.passing]).toEqual([unreachable, passing]);
});
