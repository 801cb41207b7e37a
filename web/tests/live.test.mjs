// Pages that stay open hear of changes from the server, each of them, and go on after a break.
import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { after, before, describe } from "node:test";
import { openBrowser, openPage, pageTests } from "./browser.mjs";
import { serve } from "./server.mjs";

let browser;
let server;

before(async () => {
  browser = await openBrowser();
  server = await serve(() => undefined);
});
after(async () => {
  await browser?.close();
  await server?.close();
});
const onPage = pageTests(() => ({ browser, server }));

/** A run of a job that nobody has met before. */
async function run(number, job) {
  const response = await fetch(new URL("api/v1/lineage", server.url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      eventType: "COMPLETE",
      eventTime: new Date().toISOString(),
      run: { runId: `01990000-0000-7000-8000-${String(number).padStart(12, "0")}` },
      job: { namespace: "live", name: job },
      producer: "test",
      schemaURL: "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }),
  });
  assert.equal(response.status, 201);
}
const shows = (page, job) => page.locator("tbody tr", { hasText: job }).first().waitFor();

/** A way to the server that can be cut: `cut()` ends what is open and lets nothing through until `mend()`. */
async function way() {
  const open = new Set();
  let whole = true;
  const proxy = createServer((client) => {
    if (!whole) return client.destroy();
    const there = connect(Number(new URL(server.url).port), "127.0.0.1");
    for (const [from, to] of [
      [client, there],
      [there, client],
    ]) {
      open.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => open.delete(from) && to.destroy());
      from.pipe(to);
    }
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    whole = false;
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${proxy.address().port}/`,
    cut,
    mend: () => (whole = true),
    close: () => proxy.close(),
  };
}

describe("an open page", () => {
  onPage("shows what comes, in every tab, without being asked; only questions that changed are asked", async (page) => {
    const { page: other } = await openPage(browser.context);
    await run(1, "the-first");
    for (const tab of [page, other]) {
      await tab.goto(`${server.url}catalogue/runs`);
      await shows(tab, "the-first");
    }
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await run(2, "the-second");
    for (const tab of [page, other]) await shows(tab, "the-second");
    assert.ok(!asked.includes("/auth/me"), String(asked));
    await other.close();
  });

  onPage(
    "says that it lost the server, and shows afterwards what it missed",
    async (page) => {
      const { url, cut, mend, close } = await way();
      // What it says of the server it says once it has heard of it.
      const heard = page.waitForResponse((response) => new URL(response.url()).pathname === "/api/v2/status");
      await page.goto(`${url}catalogue/runs`);
      await (await heard).finished();
      await shows(page, "the-second");
      try {
        cut();
        await page.getByText("Reconnecting").waitFor();
        await run(3, "the-third");
        assert.equal(await page.locator("tbody tr", { hasText: "the-third" }).count(), 0);
        mend();
        await shows(page, "the-third");
        await page.getByText("Reconnecting").waitFor({ state: "detached" });
      } finally {
        // An open way keeps this process.
        cut();
        close();
      }
    },
    { expected: ["net::ERR_"] },
  );
});
