// From trouble to its repair, and what people say of data, in a real Chromium against the real server. Tests run in order.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests, seg, settled } from "./browser.mjs";
import { post } from "./seed.mjs";
import { serve } from "./server.mjs";

const CLEAN = "dataset:file:/data/clean/flights";
const ORDERS = "dataset:postgres://shop:5432:shop.public.orders";
const dataset = (id) => `datasets/${seg(id.replace(/^[a-z]+:/, ""))}`;

let browser;
let server;

before(async () => {
  browser = await openBrowser();
  server = await serve();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

const onPage = pageTests(() => ({ browser, server }));

describe("finding one's way", () => {
  onPage("the tour leads newcomers, and is closed for good", async (page, open) => {
    await open("");
    const tour = page.getByRole("list", { name: "Tour" });
    await tour.getByRole("link", { name: "draw its lineage" }).click();
    await settled(page);
    await open("");
    await page.getByRole("button", { name: "I know my way" }).click();
    await page.reload();
    await page.getByRole("list", { name: "Datasets updated lately" }).waitFor();
    assert.equal(await tour.count(), 0);
  });

  onPage("a product: what is wrong with it, what it has, and the product it feeds", async (page, open) => {
    await open("catalogue/teams");
    await page.getByRole("link", { name: "funnel", exact: true }).click();
    await settled(page);
    assert.match(await page.locator(".incident-list").innerText(), /failed[\s\S]*import-clicks/);
    const owned = page.getByRole("table", { name: "Datasets" });
    assert.match(await owned.innerText(), /sessions\s+late\s+ben/);
    await page.getByRole("link", { name: "insights", exact: true }).click();
    await page.getByRole("heading", { name: "insights" }).waitFor();
    await page.getByRole("heading", { name: "Reads from" }).waitFor();
  });

  onPage("what is doubted or late says so in lists and on the graph", async (page, open) => {
    await open(`catalogue/datasets?q=revenue`);
    await page
      .getByRole("row", { name: /revenue/ })
      .getByText("doubted")
      .waitFor();
    await open(`lineage/${seg("job:web:sessionize")}?depth=9&lens=incidents`);
    await settled(page);
    await page.keyboard.press("t");
    const twin = page.getByRole("table", { name: "Nodes of the graph" });
    await twin.getByText("no open incident").first().waitFor();
    assert.match(await twin.innerText(), /import-clicks[\s\S]*failed/);
  });
});

describe("saying and repairing", () => {
  onPage("description, owner and tag in place, with history", async (page, open) => {
    await open(dataset(CLEAN));
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Description").fill("What flew, checked.");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator(".description", { hasText: "What flew, checked." }).waitFor();
    await page.getByLabel("Add an owner").fill("ana");
    await page.keyboard.press("Enter");
    await page.locator(".chip", { hasText: "ana" }).waitFor();
    await page.getByLabel("Add a tag").fill("tier:gold");
    await page.keyboard.press("Enter");
    await page.locator(".chip", { hasText: "tier:gold" }).waitFor();
    await page.getByRole("link", { name: "History" }).click();
    await page.getByRole("cell", { name: "describe" }).waitFor();
    assert.equal(await page.getByRole("table", { name: "Changes by people" }).locator("tbody tr").count(), 3);
  });

  onPage("from a red mark on Home to the cause, who is hit, by which way, and the jobs to run", async (page, open) => {
    await open("");
    await page.locator(".incident-what").getByRole("link", { name: "import-clicks" }).click();
    await page.getByRole("heading", { name: "import-clicks" }).waitFor();
    await settled(page);
    assert.equal(await page.locator(".graph").getAttribute("data-nodes"), "8");
    const hits = page.getByRole("table", { name: "Who is hit" });
    const sessions = hits.getByRole("row", { name: /sessions/ }).first();
    assert.match(await hits.innerText(), /ben, team web[\s\S]*import-clicks → clicks → sessionize → sessions/);
    assert.match(await sessions.innerText(), /late/);
    assert.deepEqual(await page.getByRole("list", { name: "Jobs to run again" }).locator(".name").allInnerTexts(), [
      "import-clicks",
      "sessionize",
      "funnel",
      "refresh dashboard 7",
    ]);
    assert.equal(await page.locator(".timeline > li", { hasText: "HTTP 503" }).count(), 3);
    await page.getByRole("link", { name: "run of import-clicks" }).click();
    await page.getByRole("heading", { name: "Run of import-clicks" }).waitFor();
    await page.getByText("HTTP 503 of the click stream").first().waitFor();
  });

  onPage(
    "a doubted version: who would be hit, marked wrong, and retracted",
    async (page, open) => {
      await open(`incidents/${seg(ORDERS)}`);
      await page.getByRole("button", { name: /Who is hit if this version is wrong/ }).click();
      await page.getByRole("list", { name: "Datasets that would hold a wrong version" }).getByText("revenue").waitFor();
      await page.getByLabel("Why it is wrong").fill("twice the same order");
      await page.getByRole("button", { name: "Mark wrong" }).click();
      await page.getByRole("heading", { name: "twice the same order" }).waitFor();
      await settled(page);
      await page.getByRole("button", { name: /Retract/ }).click();
      await page.locator(".page-title .state", { hasText: "retracted" }).waitFor();
    },
    { expected: ["404"] },
  );

  onPage(
    "an incident that ended says so",
    async (page, open) => {
      await open(`incidents/${seg(CLEAN)}`);
      await page.getByText("This incident is over").waitFor();
    },
    { expected: ["404"] },
  );

  onPage(
    "the calendar: dragged over, walked with arrows, from a year to a month, and all of it in the address",
    async (page, open) => {
      const part = (instance) => page.locator(`[data-instance="${instance}"]`);
      const query = () => new URL(page.url()).searchParams;
      await open("schedules/weather?month=2013-03");
      // Clocks went forward on the tenth: nothing stands under two o'clock.
      const tenth = page.getByRole("row", { name: /Sun 2013-03-10/ });
      await tenth.waitFor();
      assert.equal(await tenth.locator("[data-instance]").count(), 23);
      assert.equal(await tenth.locator('[data-column="2"]').count(), 0);
      await part("2013-03-12T04-04:00").hover();
      await page.mouse.down();
      await part("2013-03-13T06-04:00").hover();
      await page.mouse.up();
      await page.getByRole("region", { name: "Chosen: 2013-03-12T04-04:00..2013-03-13T06-04:00" }).waitFor();
      assert.equal(await page.locator('[aria-selected="true"]').count(), 27);
      await page.reload();
      await page.getByRole("region", { name: /^Chosen: 2013-03-12T04/ }).waitFor();
      await part("2013-03-12T04-04:00").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
      await page.getByRole("region", { name: "Chosen: 2013-03-13T05-04:00" }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => !document.querySelector(".range"));
      await page.getByRole("button", { name: "Year" }).click();
      await page.getByRole("row", { name: /Mar 2013/ }).waitFor();
      assert.equal(query().get("at"), "2013");
      const twelfth = await part("2013-03-12T00-04:00").getAttribute("aria-label");
      assert.match(twelfth, /^2013-03-12T00-04:00 to 2013-03-12T23-04:00: /);
      await part("2013-03-12T00-04:00").click();
      await page.getByRole("region", { name: "Chosen: 2013-03-12T00-04:00..2013-03-12T23-04:00" }).waitFor();
      await page.getByRole("button", { name: "Mar 2013" }).click();
      await page.getByRole("row", { name: /Tue 2013-03-12/ }).waitFor();
      await page.getByRole("button", { name: "Earlier" }).click();
      await page.waitForURL(/at=2013-02/);
    },
  );

  onPage(
    "three hours wrong: who is hit, the plan, apply, and retract",
    async (page, open) => {
      await open("schedules/weather?month=2013-03");
      await page.locator('[data-instance="2013-03-12T04-04:00"]').click();
      await page.locator('[data-instance="2013-03-12T06-04:00"]').click();
      await page.getByRole("button", { name: "Who is hit" }).click();
      await page.getByRole("table", { name: "Who is hit" }).waitFor();
      await page.getByLabel("Why it is wrong").fill("a sensor froze");
      await page.getByRole("button", { name: "Mark wrong" }).click();
      await page.getByRole("heading", { name: "a sensor froze" }).waitFor();
      await page.getByRole("button", { name: "Plan the repair" }).click();
      await page.getByRole("button", { name: "Make this plan" }).click();
      await page.getByRole("button", { name: "Apply" }).click();
      await page.getByText("No worker is connected: start one with").waitFor();
      await post(server.url, "api/v2/plan-workers", { worker: "test" });
      await page.reload();
      await page.getByText("1 worker connected, last seen").waitFor();
      // What a worker does; the page follows by itself.
      const { plans } = await (await fetch(new URL("api/v2/plans?limit=1", server.url))).json();
      const path = `api/v2/plans/${plans[0].id}`;
      const { items } = await post(server.url, `${path}/take`, { worker: "test" });
      await page.getByText("1 running").waitFor();
      await post(server.url, `${path}/items/${items[0].number}/end`, { attempt: items[0].attempt, failed: true });
      await page.getByText("1 failed").waitFor();
      await page.getByRole("button", { name: "Take failed runs again" }).waitFor();
      await open("incidents");
      await page.getByRole("link", { name: "a sensor froze" }).first().click();
      await page.getByRole("button", { name: /Retract/ }).click();
      await page.locator(".page-title .state", { hasText: "retracted" }).waitFor();
    },
    { expected: ["404"] },
  );

  onPage("a key is made, shown once, and revoked", async (page, open) => {
    await open("settings/keys");
    await page.getByLabel("Name of the key").fill("airflow");
    await page.getByRole("button", { name: "Make" }).click();
    await page.getByText(/hw_/).waitFor();
    await page.getByRole("button", { name: "Revoke the key airflow" }).click();
    await page.getByText("revoked").waitFor();
  });
});
