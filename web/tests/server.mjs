// The real server, with a database of its own, filled by seed.mjs. `node tests/server.mjs` serves until Ctrl-C.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { seed } from "./seed.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** `fill`: what to send; nothing for an empty server. `settings`: further variables of its environment. */
export async function serve(fill = seed, settings = {}) {
  const home = mkdtempSync(join(tmpdir(), "headwater-page-"));
  const port = await freePort();
  const env = { ...process.env, HEADWATER_HOME: home, ...settings };
  delete env.HEADWATER_URL;
  const headwater = (...words) =>
    execFileSync(join(ROOT, ".venv/bin/headwater"), words, {
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
  const close = () => {
    headwater("down");
    rmSync(home, { recursive: true, force: true });
  };
  headwater("up", "--port", String(port));
  const url = `http://127.0.0.1:${port}/`;
  try {
    await fill(url);
  } catch (error) {
    close();
    throw error;
  }
  return { url, close };
}

/**
 * A closed server. `people`: name → role, each with a key; "admin" has one already. `ask` posts as the admin; `as` opens a page's next addresses as
 * one of them.
 */
export async function serveClosed(people) {
  const keys = { admin: "an-admin-key-for-the-browser-tests" };
  const server = await serve(() => undefined, { HEADWATER_ACCESS__ADMIN_KEY: keys.admin });
  const ask = async (path, body) => {
    const response = await fetch(new URL(path, server.url), {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${keys.admin}` },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  // A role, or a list of limits of a reader.
  for (const [name, role] of Object.entries(people)) {
    const wanted = Array.isArray(role) ? { name, role: "read", limits: role } : { name, role };
    keys[name] = (await ask("api/v2/admin/keys", wanted)).key;
  }
  const as = (page, name) => page.setExtraHTTPHeaders({ authorization: `Bearer ${keys[name]}` });
  return { ...server, keys, ask, as };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await serve();
  console.log(server.url);
  process.on("SIGINT", () => {
    server.close();
    process.exit(0);
  });
  setInterval(() => {}, 1 << 30);
}
