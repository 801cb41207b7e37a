// Alerts in a real Chromium against the real server: rules are applied, a job fails, and the page says who was told.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests } from "./browser.mjs";
import { run, send, table } from "./seed.mjs";
import { serve } from "./server.mjs";

const RULES = `rules:
  - {name: failures, when: failed, to: [ana@example.com, "channel:ops"], settle: 0}
`;
let browser;
let server;

before(async () => {
  browser = await openBrowser();
  server = await serve(
    async (url) => {
      const body = JSON.stringify({ files: [{ name: "alerts.yaml", text: RULES }] });
      const headers = { "content-type": "application/json" };
      const reply = await fetch(`${url}api/v2/rules`, { method: "PUT", body, headers });
      assert.equal(reply.status, 200, await reply.text());
      const { events } = run("nightly", Date.now(), { outputs: [table("mart.orders", ["a"])], took: 1, end: "FAIL" });
      await send(url, events);
    },
    { HEADWATER_ALERTS__EVERY_SECONDS: "0.3" },
  );
});
after(async () => {
  await browser?.close();
  await server?.close();
});
const onPage = pageTests(() => ({ browser, server }));

describe("alerts", () => {
  onPage("are listed, with messages that could not be sent, and acknowledged", async (page, open) => {
    await open("alerting");
    const list = page.getByRole("table", { name: "Alerts" });
    await list.getByRole("link", { name: "nightly" }).click();
    const messages = page.getByRole("table", { name: "Messages" });
    await messages.getByText("channel:ops").waitFor();
    await messages.getByText("no channel is called").waitFor();
    await page.getByRole("textbox", { name: "What you do about it" }).fill("looking at the disk");
    await page.getByRole("button", { name: "Acknowledge" }).click();
    await page.getByText("anonymous looking at the disk").waitFor();
    await open("alerting/rules");
    await page.getByRole("table", { name: "Rules" }).getByText("failures").waitFor();
    await page.getByText("version 1").waitFor();
  });
});
