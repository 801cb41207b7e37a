// Signing in: where to, when the server says that nobody is known.

/** The address to sign in at, from the reply of auth/me, with the way back to this page; null when that is not the answer. */
export function signInAddress(status: number, body: unknown, page: URL): string | null {
  if (status !== 401) return null;
  const login = (body as { detail?: { login?: unknown } } | null)?.detail?.login;
  if (typeof login !== "string") return null;
  const address = new URL(login, new URL(".", page));
  if (address.origin !== page.origin) return null;
  address.searchParams.set("to", page.pathname + page.search);
  return address.href;
}

/** Ask the server who this browser is; the address to sign in at when it is nobody. */
export async function askToSignIn(signal?: AbortSignal): Promise<string | null> {
  const response = await fetch(new URL("auth/me", document.baseURI), {
    signal,
    headers: { accept: "application/json" },
  });
  const body: unknown = await response.json().catch(() => null);
  return signInAddress(response.status, body, new URL(document.baseURI));
}
