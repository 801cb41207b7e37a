// The graph and a dataset in a frame of another page: by the setting, for the origins that it names, and nothing else.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests, seg } from "./browser.mjs";
import { shop } from "./seed.mjs";
import { serve } from "./server.mjs";

const ORDERS = "dataset:postgres://shop:5432:shop.public.orders";

let browser;
let server;
let wiki;
let port;

before(async () => {
  browser = await openBrowser();
  wiki = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      `<iframe width="900" height="700" src="${new URL(request.url, "http://x").searchParams.get("of")}"></iframe>`,
    );
  });
  await new Promise((resolve) => wiki.listen(0, "127.0.0.1", resolve));
  port = wiki.address().port;
  const fill = (url) =>
    fetch(new URL("api/v1/lineage/batch", url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(shop()),
    });
  server = await serve(fill, { HEADWATER_EMBED__FRAME_ANCESTORS: `http://127.0.0.1:${port}` });
});
after(async () => {
  await browser?.close();
  await server?.close();
  wiki?.close();
});
const onPage = pageTests(() => ({ browser, server }));
const framed = async (page, path, host = "127.0.0.1") => {
  await page.goto(`http://${host}:${port}/?of=${encodeURIComponent(server.url + path)}`);
  return page.frameLocator("iframe");
};

describe("a frame of another page", () => {
  onPage("shows the graph, and a dataset without a way to change it", async (page) => {
    const graph = await framed(page, `embed/lineage/${seg(ORDERS)}`);
    await graph.locator("[data-card]").first().waitFor();
    assert.equal(await graph.getByRole("navigation", { name: "Main" }).count(), 0);
    const dataset = await framed(page, `embed/datasets/${seg(ORDERS.slice(8))}`);
    await dataset.getByText("One row an order, as the shop took it.").waitFor();
    assert.equal(await dataset.getByRole("button", { name: "Edit" }).count(), 0);
    const out = await dataset.getByRole("link", { name: "Open in Headwater" }).getAttribute("href");
    assert.equal(out, `${server.url}datasets/${seg(ORDERS.slice(8))}`);
  });

  onPage("shows what is open now", async (page) => {
    const status = await framed(page, "embed/status");
    await status.getByText(/incidents?$/).waitFor();
    assert.ok((await status.getByRole("list", { name: "Open incidents" }).locator("li").count()) > 0);
    assert.equal(await status.getByRole("navigation", { name: "Main" }).count(), 0);
  });

  for (const [why, path, host] of [
    ["of an origin that is not named", `embed/lineage/${seg(ORDERS)}`, "localhost"],
    ["for what is not below embed/", `lineage/${seg(ORDERS)}`, "127.0.0.1"],
  ])
    onPage(
      `is refused by the browser ${why}`,
      async (page) => {
        const refused = page.waitForEvent("console", (said) => said.text().includes("frame-ancestors"));
        await framed(page, path, host);
        await refused;
        assert.equal(await page.frameLocator("iframe").locator("#root").count(), 0);
      },
      // The harness's own script meets the browser's error page.
      { expected: ["frame-ancestors", "ERR_BLOCKED", "localStorage"] },
    );
});
