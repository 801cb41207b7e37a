import { expect, test } from "vitest";

const sources: Record<string, string> = import.meta.glob(["./*.ts", "./*.tsx", "!./*.test.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});

test("there is something to look at", () => {
  expect(Object.keys(sources).length).toBeGreaterThan(10);
});

// The drawing is to grow on its own: it imports React and itself, and never talks to a server.
test.each(Object.entries(sources))("%s imports nothing but React and the drawing", (_, source) => {
  const imports = [...source.matchAll(/(?:from|import)\s+"([^"]+)"/g)].map((match) => match[1]);
  expect(imports.filter((path) => path !== "react" && !path.startsWith("./"))).toEqual([]);
  expect(source).not.toMatch(/\bfetch\(|XMLHttpRequest|WebSocket|EventSource/);
});
