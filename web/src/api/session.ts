// Signing in: the address, if the server reports an unauthenticated browser.

/**
 * The address to sign in at, from the reply of auth/me, with the way back to this page; null when that is not the answer.
 * `base`: where the server's page begins, below a proxy's prefix or not.
 */
export function signInAddress(status: number, body: unknown, page: URL, base = page): string | null {
  if (status !== 401) return null;
  const login = (body as { detail?: { login?: unknown } } | null)?.detail?.login;
  if (typeof login !== "string") return null;
  const address = new URL(login, new URL(".", base));
  if (address.origin !== page.origin) return null;
  address.searchParams.set("to", page.pathname + page.search);
  return address.href;
}

/** Ask the server for this browser's user; return the address to sign in at if it has none. */
export async function askToSignIn(signal?: AbortSignal): Promise<string | null> {
  const response = await fetch(new URL("auth/me", document.baseURI), {
    signal,
    headers: { accept: "application/json" },
  });
  const body: unknown = await response.json().catch(() => null);
  return signInAddress(response.status, body, new URL(location.href), new URL(document.baseURI));
}
