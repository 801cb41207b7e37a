// Systems that are read on a schedule, and subscriptions, in a real Chromium: what an admin connects, and what a person asks to hear of.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests, seg } from "./browser.mjs";
import { clicks, run, schedules, shop, table } from "./seed.mjs";
import { serveClosed } from "./server.mjs";

const ORDERS = `datasets/${seg("postgres://shop:5432:shop.public.orders")}`;
/** A schema registry with one subject; while `away` it fails. */
const SCHEMA = JSON.stringify({ type: "record", name: "click", fields: [{ name: "session", type: "string" }] });
const ANSWERS = {
  "/config": { compatibilityLevel: "BACKWARD" },
  "/config/clicks-value": { compatibilityLevel: "FULL" },
  "/subjects": ["clicks-value"],
  "/subjects/clicks-value/versions": [1],
  "/subjects/clicks-value/versions/1": { subject: "clicks-value", version: 1, id: 7, schema: SCHEMA },
};
let away = false;
const registry = createServer((request, response) => {
  const answer = away ? undefined : ANSWERS[request.url.split("?")[0]];
  response.writeHead(away ? 500 : answer ? 200 : 404, { "content-type": "application/json" });
  response.end(JSON.stringify(answer ?? { message: away ? "out of order" : "not found" }));
});

let browser;
let server;
before(async () => {
  await new Promise((resolve) => registry.listen(0, "127.0.0.1", resolve));
  browser = await openBrowser();
  server = await serveClosed({ "ana@example.com": "read", "a reader": "read" });
  await server.ask("api/v1/lineage/batch", shop());
});
after(async () => {
  await browser?.close();
  await server?.close();
  registry.close();
});
const onPage = pageTests(() => ({ browser, server }));

describe("what is read on a schedule", () => {
  onPage("is listed with its last pull, pulled at once by an admin, and says what went wrong", async (page, open) => {
    const settings = { address: `http://127.0.0.1:${registry.address().port}`, namespace: "kafka://broker:9092" };
    const tested = await server.ask("api/v2/connectors", { name: "topics", kind: "schema_registry", settings });
    assert.equal(tested.ok, true, JSON.stringify(tested));
    await server.as(page, "a reader");
    await open("catalogue/sources");
    const row = page.getByRole("table", { name: "Connectors" }).getByRole("row", { name: /topics/ });
    await row.getByText("schema_registry").waitFor();
    assert.equal(await page.getByRole("button", { name: "Pull now" }).count(), 0);
    // The first pull begins by itself, and brings the topic.
    await page.getByRole("table", { name: "Sources" }).getByText("kafka://broker:9092").waitFor({ timeout: 60_000 });

    away = true;
    await server.as(page, "admin");
    await open("catalogue/sources");
    await row.getByRole("button", { name: "Pull now" }).click();
    await row.getByText(/500|out of order/).waitFor({ timeout: 60_000 });
    // It is on the first page of those who can do something about it.
    const troubles = page.getByRole("list", { name: "What keeps the server from its work" });
    await open("");
    await troubles.getByText(/500|out of order/).waitFor();
    await server.as(page, "a reader");
    await open("");
    await page.getByRole("heading", { name: /^Now/ }).waitFor();
    assert.equal(await troubles.count(), 0);
    away = false;
    await server.as(page, "admin");
    await open("");
    await troubles.getByRole("link", { name: "topics" }).click();
    await row.getByRole("button", { name: "Pull now" }).click();
    await row.getByText(/500|out of order/).waitFor({ state: "detached", timeout: 60_000 });
    await open("");
    await page.getByRole("heading", { name: /^Now/ }).waitFor();
    assert.equal(await troubles.count(), 0);
  });
});

describe("a subscription", () => {
  onPage("is a person's own, lasts, and ends", async (page, open) => {
    await server.as(page, "ana@example.com");
    await open(ORDERS);
    const button = page.getByRole("button", { name: /^Subscribe/ });
    await button.click();
    await page.getByRole("button", { name: "Subscribed", pressed: true }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Subscribed", pressed: true }).click();
    await page.getByRole("button", { name: "Subscribe", exact: true, pressed: false }).waitFor();

    // The same for all of a team, and for the dataset that a schedule is of.
    const period = { _producer: "urn:t", _schemaURL: "urn:t", entity: "weather", instances: ["2013-03-01T00-05:00"] };
    const outputs = [table("shop.public.weather")];
    const load = run("load-weather", Date.now() - 120_000, { outputs, facets: { headwater_period: period } });
    await schedules(server.url, server.ask);
    await server.ask("api/v1/lineage/batch", [...clicks(), ...load.events]);
    for (const path of ["groups/team/web", "schedules/weather"]) {
      await open(path);
      await button.click();
      await page.getByRole("button", { name: "Subscribed", pressed: true }).click();
      await page.getByRole("button", { name: "Subscribe", exact: true, pressed: false }).waitFor();
    }

    // A key that is no mail address cannot be written to.
    await server.as(page, "a reader");
    await open(ORDERS);
    await page.getByRole("link", { name: "Lineage" }).first().waitFor();
    assert.equal(await button.count(), 0);
  });
});
