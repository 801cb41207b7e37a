import { expect, test } from "vitest";
import { translateOldLink } from "./old-links.ts";

test("an old link of a graph leads to the graph, with its state", () => {
  const old =
    "?node=dataset:file:/data/a&depth=5&columns=1&selected=dataset:file:/data/b&field=x&asOf=2026-01-01T00:00:00Z";
  expect(translateOldLink(old)).toBe(
    "lineage/dataset%3Afile%3A~data~a?depth=5&columns=true&selected=dataset%3Afile%3A%2Fdata%2Fb&field=x&asOf=2026-01-01T00%3A00%3A00Z",
  );
});

test("an old link of a run leads to the run", () => {
  expect(translateOldLink("?node=job:a:b&selected=job:a:b&run=0199")).toBe("runs/0199");
});

test("the start page is no old link", () => {
  expect(translateOldLink("")).toBeNull();
  expect(translateOldLink("?q=flights")).toBeNull();
});
