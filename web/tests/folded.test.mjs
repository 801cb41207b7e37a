// Packages and DAGs stand for what is part of them until they are opened: in the list of runs, on the way of an incident, in a team.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests, seg, settled } from "./browser.mjs";
import { post, PRODUCER, run, send, table } from "./seed.mjs";
import { serve } from "./server.mjs";

const HOUR = 3_600_000;
const NOW = Date.now();
const web = {
  _producer: PRODUCER,
  _schemaURL: `${PRODUCER}.json`,
  tags: [{ key: "team", value: "mart", source: "seed" }],
};

/** A load, and a DAG of three tasks that reads what it wrote: one run each; the run of the load. */
function world() {
  const raw = table("raw.orders");
  const load = run("load", NOW - 3 * HOUR, { outputs: [raw] });
  const whole = run("mart", NOW - 2 * HOUR, { took: HOUR });
  const tasks = ["days", "customers", "products"].map((name) =>
    run(`mart.${name}`, NOW - 2 * HOUR, {
      inputs: [raw],
      outputs: [table(`mart.${name}`)],
      parent: { run: whole.id, job: "mart" },
    }),
  );
  const events = [load, whole, ...tasks].flatMap((one) => one.events);
  for (const event of events) if (event.job.name.startsWith("mart")) event.job.facets = { tags: web };
  return { events, load: load.id };
}

let browser;
let server;
let incident;
before(async () => {
  browser = await openBrowser();
  server = await serve(async (url) => {
    const { events, load } = world();
    await send(url, events);
    const body = { origins: [{ kind: "RUN", ref: load }], reason: "last year's rates" };
    incident = (await post(url, "api/v2/incidents", body)).id;
  });
});
after(async () => {
  await browser?.close();
  await server?.close();
});
const onPage = pageTests(() => ({ browser, server }));

describe("what stands for others", () => {
  onPage("a run stands for the runs of its tasks, and opens", async (page, open) => {
    await open("catalogue/runs");
    const rows = page.getByRole("table", { name: "Runs" }).locator("tbody tr");
    await rows.first().waitFor();
    assert.equal(await rows.count(), 2);
    await page.getByText("1–2 of 2").waitFor();
    await page.getByRole("button", { name: "Unfold the 3 runs of mart" }).click();
    await page.getByRole("link", { name: "mart.days" }).waitFor();
    assert.equal(await rows.count(), 5);
    await page.reload();
    await page.getByRole("button", { name: "Fold the 3 runs of mart" }).click();
    await page.getByRole("link", { name: "mart.days" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Fold runs" }).click();
    await page.getByText("1–5 of 5").waitFor();
    // A state is looked for in every run.
    await page.getByRole("button", { name: "completed", exact: true }).click();
    await page.getByText("1–5 of 5").waitFor();
  });

  onPage("more children than are listed are counted, and their list has pages", async (page) => {
    const wide = await serve(async (url) => {
      const whole = run("wide", NOW - 2 * HOUR, { took: HOUR });
      const parent = { run: whole.id, job: "wide" };
      const parts = Array.from({ length: 502 }, (_, n) => run(`wide.t${n}`, NOW - 2 * HOUR, { parent }));
      await send(
        url,
        [whole, ...parts].flatMap((one) => one.events),
      );
    });
    try {
      await page.goto(`${wide.url}catalogue/runs`);
      await page.getByRole("button", { name: "Unfold the 502 runs of wide" }).click();
      await page.getByRole("link", { name: "All 502 runs of wide" }).click();
      await page.waitForURL(/parent=/);
      await page.getByText("1–100 of 502").waitFor();
      await page.getByText(/part of\s+run/).waitFor();
      await page.getByRole("link", { name: /^run [0-9a-f]{8}$/ }).click();
      await page.getByText("500 of 502 child runs").waitFor();
      await page.getByRole("link", { name: "list all" }).click();
      await page.getByText("1–100 of 502").waitFor();
      await page.getByRole("button", { name: "Do not narrow to what is part of it" }).click();
      await page.getByText("1–1 of 1").waitFor();
    } finally {
      await wide.close();
    }
  });

  onPage("on the way of an incident a DAG is one card, and opens", async (page, open) => {
    await open(`incidents/${seg(incident)}`);
    await settled(page);
    const nodes = () => page.locator(".graph").getAttribute("data-nodes").then(Number);
    const folded = await nodes();
    await page.getByRole("button", { name: "Unfold the 3 jobs of mart" }).click();
    await page.waitForFunction((was) => Number(document.querySelector(".graph").dataset.nodes) === was + 2, folded);
    await page.reload();
    await settled(page);
    assert.equal(await nodes(), folded + 2);
    await page.getByRole("button", { name: "is open" }).click();
    await page.waitForFunction((was) => Number(document.querySelector(".graph").dataset.nodes) === was, folded);
  });

  onPage("among the jobs of a team a DAG stands for its tasks", async (page, open) => {
    await open("groups/team/mart");
    const rows = page.getByRole("table", { name: "Jobs" }).locator("tbody tr");
    await rows.first().waitFor();
    assert.equal(await rows.count(), 1);
    await page.getByRole("button", { name: "Unfold the 3 jobs of mart" }).click();
    await page.getByRole("link", { name: "mart.customers" }).waitFor();
    assert.equal(await rows.count(), 4);
    await page.reload();
    await page.getByRole("link", { name: "mart.customers" }).waitFor();
  });

  onPage("a group of the graph counts the jobs that a folded DAG stands for", async (page, open) => {
    await open(`lineage/${seg("dataset:postgres://shop:5432:raw.orders")}?depth=2&group=team`);
    await settled(page);
    await page.locator(".card", { hasText: "3 jobs" }).first().waitFor();
  });
});
