import { beforeEach, expect, test, vi } from "vitest";
import { forgetView, savedViews, saveView } from "./saved-views.ts";

beforeEach(() => {
  const held = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => held.get(key) ?? null,
    setItem: (key: string, value: string) => held.set(key, value),
  });
});

test("the newest first, an address once, and forgotten", () => {
  saveView({ name: "a", address: "lineage/x?depth=2" });
  saveView({ name: "b", address: "catalogue/datasets" });
  saveView({ name: "c", address: "lineage/x?depth=2" });
  expect(savedViews().map((view) => view.name)).toEqual(["c", "b"]);
  forgetView("catalogue/datasets");
  expect(savedViews().map((view) => view.name)).toEqual(["c"]);
});

test.each(["https://evil.example/", "//evil.example", "javascript:alert(1)", "/absolute", "\\\\evil", 7, null])(
  "what leads away is no view: %s",
  (address) => {
    localStorage.setItem("headwater.views", JSON.stringify([{ name: "x", address }]));
    expect(savedViews()).toEqual([]);
  },
);

test("names with colons are views of this page", () => {
  saveView({ name: "x", address: "lineage/dataset:file:~data~x?to=dataset:file:/y" });
  expect(savedViews()).toHaveLength(1);
});

test("storage that holds something else is no view", () => {
  localStorage.setItem("headwater.views", "{");
  expect(savedViews()).toEqual([]);
});
