import { expect, test } from "vitest";
import { signInAddress } from "./session.ts";

const nobody = { code: "unauthenticated", status: 401, message: "…", detail: { login: "auth/login" } };

test("nobody is sent to sign in, and back to the page as it is, also below a path", () => {
  const page = new URL("https://data.example/lineage/?node=dataset%3Aa%3Ab%26c&depth=2");
  const address = new URL(signInAddress(401, nobody, page)!);
  expect(address.origin + address.pathname).toBe("https://data.example/lineage/auth/login");
  expect(address.searchParams.get("to")).toBe("/lineage/?node=dataset%3Aa%3Ab%26c&depth=2");
});

test.each([
  [200, { name: "ada" }],
  [404, nobody],
  [401, null],
  [401, "nobody"],
  [401, { detail: { login: null } }],
  [401, { detail: { login: "https://evil.example/" } }],
  [401, { detail: { login: "javascript:alert(1)" } }],
])("%d %j asks nobody to sign in", (status, body) => {
  expect(signInAddress(status, body, new URL("https://data.example/"))).toBeNull();
});
