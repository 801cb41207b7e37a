// Dead letters and what failing jobs share, in a real Chromium against the real server and a real RabbitMQ.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, describe } from "node:test";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openBrowser, pageTests, seg } from "./browser.mjs";
import { PRODUCER, run, send, table } from "./seed.mjs";
import { serve } from "./server.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const HOUR = 60 * 60_000;

let browser;
let server;
let broker;

/** 24 jobs; the eight on the new engine fail. */
function onTwoEngines() {
  const spark = (version) => ({
    processing_engine: { _producer: PRODUCER, _schemaURL: PRODUCER, name: "spark", version },
  });
  return Array.from({ length: 24 }, (_, i) => {
    const isNew = i % 3 === 0;
    const about = { outputs: [table(`lake.t${i}`, ["a"], {}, "lake")], namespace: "etl" };
    const good = run(`load-${i}`, Date.now() - 5 * HOUR, { ...about, facets: spark("3.5.6") });
    const last = { ...about, facets: spark(isNew ? "4.1.0" : "3.5.6"), end: isNew ? "FAIL" : "COMPLETE" };
    return [...good.events, ...run(`load-${i}`, Date.now() - HOUR, last).events];
  }).flat();
}

before(async () => {
  broker = spawn(join(ROOT, ".venv/bin/python"), ["-m", "tests.broker_of_letters"], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const address = await new Promise((resolve, reject) => {
    broker.stdout.once("data", (line) => resolve(line.toString().trim()));
    broker.once("exit", (code) => reject(new Error(`the broker ended with ${code}`)));
  });
  browser = await openBrowser();
  server = await serve((url) => send(url, onTwoEngines()), { HEADWATER_AMQP__URL: address });
});
after(async () => {
  await browser?.close();
  await server?.close();
  broker?.removeAllListeners("exit");
  const ended = new Promise((resolve) => broker.once("exit", resolve));
  broker?.stdin.end();
  await ended;
});
const onPage = pageTests(() => ({ browser, server }));

const section = (page, name) => page.locator("section", { has: page.getByRole("heading", { name }) }).last();

describe("dead letters", () => {
  onPage("are read, tried again, and thrown away after one more question", async (page, open) => {
    await open("events");
    await page.getByRole("link", { name: "Dead letters" }).click();
    const list = page.getByRole("table", { name: "Dead letters" });
    await list.waitFor();
    assert.equal(await list.locator("tbody tr").count(), 3);
    await page.getByRole("button", { name: "invalid event" }).first().click();
    await page.getByRole("region", { name: "Letter" }).getByText("{'run': 1}").waitFor();
    await page.getByRole("button", { name: "Try 3 letters again" }).click();
    await page.getByText("1 accepted, 2 refused again, and kept.").waitFor();
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);
    await page
      .getByLabel(/^Tick /)
      .nth(1)
      .check();
    await page.getByRole("button", { name: "Discard…" }).click();
    await page.getByRole("button", { name: "Discard 1 letter" }).click();
    await page.getByText("1 discarded.").waitFor();
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    await open(`jobs/${seg("test:import-invoices")}`);
    await page.getByRole("heading", { name: "import-invoices" }).waitFor();
    await open("settings/audit");
    await page.getByText("replay dead letters").first().waitFor();
  });
});

describe("failing jobs", () => {
  onPage("have what they share named, on the list and on each of them", async (page, open) => {
    await open("incidents");
    const shared = section(page, "What the failing jobs share");
    await shared.getByRole("heading", { name: "engine spark 4.1.0" }).waitFor();
    await shared
      .getByText("8 of 8 failing jobs ran with it, and 0 of 24 good runs; no run without it failed")
      .waitFor();
    await shared.getByRole("link", { name: "load-0" }).waitFor();
    await open(`incidents/${seg("job:etl:load-3")}`);
    const why = section(page, "Why it fails");
    await why.getByRole("heading", { name: "engine spark" }).waitFor();
    await why.getByText("3.5.6 → 4.1.0").waitFor();
    await section(page, "Other jobs fail too").getByText("8 of 8").waitFor();
    await why.getByRole("link", { name: "What else changed" }).click();
    await page.waitForURL(/load-3\/why/);
  });
});
