import { expect, test } from "vitest";
import { signInAddress } from "./session.ts";

const unauthenticated = { code: "unauthenticated", status: 401, message: "…", detail: { login: "auth/login" } };

test("an unauthenticated browser is sent to sign in, and back to the page as it is, also below a path", () => {
  const page = new URL("https://data.example/lineage/?node=dataset%3Aa%3Ab%26c&depth=2");
  const address = new URL(signInAddress(401, unauthenticated, page)!);
  expect(address.origin + address.pathname).toBe("https://data.example/lineage/auth/login");
  expect(address.searchParams.get("to")).toBe("/lineage/?node=dataset%3Aa%3Ab%26c&depth=2");
});

test.each([
  [200, { name: "ada" }],
  [404, unauthenticated],
  [401, null],
  [401, "unauthenticated"],
  [401, { detail: { login: null } }],
  [401, { detail: { login: "https://evil.example/" } }],
  [401, { detail: { login: "javascript:alert(1)" } }],
])("%d %j does not lead to sign-in", (status, body) => {
  expect(signInAddress(status, body, new URL("https://data.example/"))).toBeNull();
});
