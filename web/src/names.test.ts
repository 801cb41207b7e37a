import fc from "fast-check";
import { expect, test } from "vitest";
import { bareName, distinguish } from "./names.ts";

const labels = (...ids: string[]) => [...distinguish(ids.map((id) => ({ id }))).values()];

test("alone, the last segment is the name", () => {
  expect(labels("dataset:file:/data/raw/flights")).toEqual(["flights"]);
  expect(labels("dataset:postgres://ops:5432:fleet.public.planes")).toEqual(["planes"]);
  expect(labels("dataset:file:/data/report/index.html")).toEqual(["index.html"]);
  expect(labels("job:flights:clean-flights.flights")).toEqual(["clean-flights.flights"]);
});

test("a number alone is no name", () => {
  expect(labels("dataset:metabase:dashboard/7", "dataset:lake:sales/2024")).toEqual(["dashboard/7", "sales/2024"]);
  expect(labels("dataset:file:7")).toEqual(["file:7"]);
});

test("as many segments as set a name apart", () => {
  expect(
    labels("dataset:file:/data/raw/flights", "dataset:file:/data/clean/flights", "dataset:file:/data/clean/weather"),
  ).toEqual(["raw/flights", "clean/flights", "weather"]);
  expect(labels("dataset:pg://a:x.raw.orders", "dataset:pg://a:x.mart.orders")).toEqual(["raw.orders", "mart.orders"]);
});

test("the same name in two namespaces takes the namespace in", () => {
  expect(labels("dataset:pg://a:x.orders", "dataset:pg://b:x.orders")).toEqual(["a:x.orders", "b:x.orders"]);
});

test("a dataset and a job may share a label", () => {
  expect(labels("dataset:file:/data/flights", "job:ns:flights")).toEqual(["flights", "flights"]);
});

test("the server's label is where it begins", () => {
  expect(distinguish([{ id: "dataset:kafka:a.b", label: "a.b" }]).get("dataset:kafka:a.b")).toBe("a.b");
});

test("no two nodes of a kind share a label, and each label ends its name", () => {
  const segment = fc.constantFrom("a", "b", "c", "flights");
  const id = fc
    .tuple(
      fc.constantFrom("dataset", "job"),
      fc.array(segment, { minLength: 1, maxLength: 5 }),
      fc.constantFrom("/", ".", ":"),
    )
    .map(([kind, parts, by]) => `${kind}:ns:${parts.join(by)}`);
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 20 }), (ids) => {
      const found = distinguish(ids.map((one) => ({ id: one })));
      const keys = ids.map((one) => `${one.slice(0, 3)} ${found.get(one)}`);
      expect(new Set(keys).size).toBe(ids.length);
      for (const one of ids) expect(bareName(one).endsWith(found.get(one)!)).toBe(true);
    }),
  );
});
