// What facets say of datasets, jobs and runs, where people look: traits, labels, completeness, the dashboards that show a table, and the order of
// jobs; in a real Chromium against the real server.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests, seg } from "./browser.mjs";
import { PRODUCER, run, send, table } from "./seed.mjs";
import { serve } from "./server.mjs";

const HOUR = 60 * 60_000;
const facet = (values) => ({ _producer: PRODUCER, _schemaURL: PRODUCER, ...values });

function world() {
  const at = Date.now() - HOUR;
  const storage = { storage: facet({ storageLayer: "iceberg", fileFormat: "parquet" }) };
  const orders = table("shop.orders", ["id", "amount"], storage);
  const dashboard = table("dashboard/7", [], {
    datasetType: facet({ datasetType: "DASHBOARD" }),
    documentation: facet({ description: "Funnel, this week" }),
    ownership: facet({ owners: [{ name: "cleo", type: "OWNER" }] }),
  }, "metabase"); // prettier-ignore
  const facets = {
    processing_engine: facet({ name: "spark", version: "4.1.0" }),
    jobDependencies: facet({
      upstream: [{ job: { namespace: "etl", name: "ingest" }, dependency_type: "IMPLICIT_ASSET_DEPENDENCY" }],
    }),
  };
  const jobFacets = { jobType: facet({ processingType: "BATCH", integration: "SPARK", jobType: "SQL_JOB" }) };
  const load = run("load", at, { outputs: [orders], namespace: "etl", facets });
  const events = [
    ...run("ingest", at - HOUR, { outputs: [table("raw.orders", ["id"], {}, "lake")], namespace: "etl" }).events,
    ...load.events.map((event) => ({ ...event, job: { ...event.job, facets: { ...event.job.facets, ...jobFacets } } })),
    ...run("other", at, { outputs: [table("shop.other", ["id"], storage)], namespace: "etl" }).events,
    ...run("refresh 7", at, { inputs: [orders], outputs: [dashboard], namespace: "etl" }).events,
  ];
  return events;
}

let browser;
let server;
before(async () => {
  browser = await openBrowser();
  server = await serve((url) => send(url, world()));
});
after(async () => {
  await browser?.close();
  await server?.close();
});
const onPage = pageTests(() => ({ browser, server }));
const fact = (page, name) =>
  page.locator("dl.facts > div").filter({ has: page.locator("dt").getByText(name, { exact: true }) });

describe("facets where people look", () => {
  onPage("a dataset has its traits, its completeness and the dashboards that show it", async (page, open) => {
    await open(`datasets/${seg("postgres://shop:5432:shop.orders")}`);
    const traits = fact(page, "Traits");
    await traits.getByText("storage:iceberg").waitFor();
    assert.match(await fact(page, "Lineage").innerText(), /2 columns|columns traced/);
    const shown = page.locator("section", { has: page.getByRole("heading", { name: /^Shown by/ }) });
    assert.match(await shown.innerText(), /1 dashboard\s+Funnel, this week\s+dashboard, cleo/);
    await traits.getByRole("link", { name: "storage:iceberg" }).click();
    await page.waitForURL(/catalogue\/datasets\?trait=storage:iceberg/);
    await page.getByRole("link", { name: /other/ }).first().waitFor();
    assert.equal(await page.getByRole("region", { name: "Datasets" }).locator("tbody tr").count(), 2);
    await page.getByRole("button", { name: /trait: storage:iceberg/ }).click();
    await page
      .getByRole("link", { name: /raw.orders/ })
      .first()
      .waitFor();
    await page.goto(`${server.url}datasets/${seg("postgres://shop:5432:shop.orders")}`);
    await fact(page, "Lineage").getByRole("link").click();
    await page.waitForURL(/\/completeness$/);
  });

  onPage("a job has its traits and the jobs that it runs after", async (page, open) => {
    await open(`jobs/${seg("etl:load")}`);
    const after = page.locator("section", { has: page.getByRole("heading", { name: /^Runs after/ }) });
    await after.getByRole("link", { name: /ingest/ }).waitFor();
    assert.match(await after.innerText(), /implicit asset dependency/);
    await fact(page, "Traits").getByText("integration:SPARK").waitFor();
    await after.getByRole("link", { name: /ingest/ }).click();
    const before = page.locator("section", { has: page.getByRole("heading", { name: /^Runs before/ }) });
    await before.getByRole("link", { name: /load/ }).waitFor();
  });

  onPage("a run has its labels, and each lists the runs that have it", async (page, open) => {
    await open(`jobs/${seg("etl:load")}/runs`);
    await page.locator("tbody a[href*='/runs/']").first().click();
    await fact(page, "Labels").getByRole("link", { name: "engine=spark 4.1.0" }).click();
    await page.waitForURL(/catalogue\/runs\?label=engine/);
    const rows = page.getByRole("region", { name: "Runs" }).locator("tbody tr");
    await rows.first().waitFor();
    assert.equal(await rows.count(), 1);
    await page.getByRole("button", { name: /label: engine=spark 4.1.0/ }).click();
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length > 1);
  });
});
