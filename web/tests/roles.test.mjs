// The page of a closed server in a real Chromium: a stranger, a reader and an admin each see what they may.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests, seg } from "./browser.mjs";
import { shop } from "./seed.mjs";
import { serveClosed } from "./server.mjs";

const ORDERS = `datasets/${seg("postgres://shop:5432:shop.public.orders")}`;

let browser;
let server;
before(async () => {
  browser = await openBrowser();
  server = await serveClosed({ "a reader": "read", "a writer": "write", "a team": ["namespace:postgres://shop*"] });
  await server.ask("api/v1/lineage/batch", shop());
});
after(async () => {
  await browser?.close();
  await server?.close();
});
const onPage = pageTests(() => ({ browser, server }));

/** Saves the page that is open under a name. */
async function saveAs(page, name, keep) {
  await page.getByRole("button", { name: "Save this view" }).click();
  await page.getByLabel("Save this view as").fill(name);
  if (keep) await page.locator("select[name=keep]").selectOption(keep);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: new RegExp(`^Saved as ${name}`) }).waitFor();
}

describe("saved views", () => {
  onPage("are a reader's own or everyone's, on the server", async (page, open) => {
    await server.as(page, "a writer");
    await open("catalogue/datasets?q=orders");
    await saveAs(page, "orders of everyone", "everyone");
    await open("catalogue/jobs");
    await saveAs(page, "jobs of the writer", "me");

    await server.as(page, "a reader");
    await open("catalogue/datasets?q=report");
    await saveAs(page, "reports");
    await open("");
    const list = page.getByRole("list", { name: "Saved views" });
    await list.getByText("reports").waitFor();
    assert.equal(await list.getByText("jobs of the writer").count(), 0);
    assert.equal(await page.evaluate(() => localStorage.getItem("headwater.views")), null);
    // What everyone has a reader cannot take from them.
    assert.equal(await list.getByRole("button", { name: "Remove the view orders of everyone" }).count(), 0);
    await list.getByRole("link", { name: "orders of everyone" }).click();
    await page.getByRole("button", { name: "Saved as orders of everyone for everyone", exact: true }).waitFor();
    await page.waitForURL(/q=orders/);
    await page.goBack();
    await list.getByRole("button", { name: "Remove the view reports" }).click();
    await list.getByText("reports").waitFor({ state: "detached" });
  });
});

describe("a stranger", () => {
  onPage(
    "is told to sign in, on every page, and sees no name",
    async (page, open) => {
      for (const path of ["catalogue/datasets", ORDERS, "incidents", "events", "settings/keys"]) {
        await open(path);
        await page.getByRole("heading", { name: "Sign in to see this" }).first().waitFor();
        assert.equal(await page.getByText("load-orders").count(), 0);
        assert.equal(await page.getByRole("button", { name: "Make", exact: true }).count(), 0);
        // One message for the page, not one for each of its parts.
        assert.equal(await page.getByRole("heading", { name: "Sign in to see this" }).count(), 1);
      }
    },
    { expected: ["401"] },
  );

  onPage(
    "signs in with a key, stays where they were, and signs out",
    async (page, open) => {
      await open(ORDERS);
      await page.getByLabel("Key").fill("hw_not-a-key");
      await page.getByRole("button", { name: "Sign in with a key" }).click();
      await page.getByText("this server does not know the key").or(page.getByText("this is no API key")).waitFor();
      await page.getByLabel("Key").fill(server.keys["a reader"]);
      await page.getByRole("button", { name: "Sign in with a key" }).click();
      await page.getByText("One row an order, as the shop took it.").waitFor();
      await page.getByRole("link", { name: "a reader" }).click();
      await page.getByText("read everything").waitFor();
      await page.getByRole("link", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in to see this" }).first().waitFor();
      await page.context().clearCookies();
    },
    { expected: ["401"] },
  );
});

describe("a reader", () => {
  onPage("sees everything, is offered no change, and is told what to ask for", async (page, open) => {
    await server.as(page, "a reader");
    await open(ORDERS);
    await page.getByText("One row an order, as the shop took it.").waitFor();
    await page.getByText("To change what is said here, ask for the role write.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Edit" }).count(), 0);
    assert.equal(await page.getByLabel("Add a tag").count(), 0);
    await open("catalogue/datasets");
    await page.getByRole("checkbox", { name: "Tick all rows of this page" }).check();
    await page.getByText("To tag and own, ask for the role write.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Add to all" }).count(), 0);
    await open("settings/keys");
    await page.getByText("This needs the role admin").waitFor();
    assert.equal(await page.getByText("a writer").count(), 0);
  });
});

describe("the first page", () => {
  onPage("begins with what concerns the reader", async (page, open) => {
    const at = new Date().toISOString();
    const ownership = { _producer: "urn:t", _schemaURL: "urn:t", owners: [{ name: "a reader" }] };
    await server.ask("api/v1/lineage/batch", [
      {
        eventType: "FAIL",
        eventTime: at,
        producer: "urn:t",
        schemaURL: "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        run: { runId: "0199c0de-0000-7000-8000-00000000f001" },
        job: { namespace: "shop", name: "load-mine", facets: { ownership } },
        inputs: [],
        outputs: [{ namespace: "postgres://shop:5432", name: "shop.public.mine", facets: { ownership } }],
      },
    ]);
    await server.as(page, "a reader");
    await open("");
    await page.getByRole("list", { name: "Incidents that concern you" }).getByText("load-mine").first().waitFor();
    const titles = await page.locator("section.section > h2").allTextContents();
    assert.ok(
      titles.findIndex((one) => one.startsWith("Yours")) < titles.findIndex((one) => one.startsWith("Now")),
      titles.join(),
    );
    await server.as(page, "a writer");
    await open("");
    await page.getByRole("heading", { name: /^Now/ }).waitFor();
    assert.equal(await page.getByRole("list", { name: "Incidents that concern you" }).count(), 0);
  });
});

describe("a reader with limits", () => {
  onPage(
    "is told so on each page, and what to do where an answer is refused",
    async (page, open) => {
      await server.as(page, "a team");
      for (const path of ["incidents", "plans", "alerting", "catalogue/datasets"]) {
        await open(path);
        await page.getByText("You see namespace:postgres://shop* only.").waitFor();
        assert.equal(await page.getByRole("heading", { name: "This is about all datasets" }).count(), 0, path);
      }
      await open("alerting/rules");
      await page.getByRole("heading", { name: "This is about all datasets" }).first().waitFor();
      await page.getByText("headwater server keys create NAME --role read").first().waitFor();
    },
    { expected: ["403"] },
  );
});

describe("a writer", () => {
  onPage("tags and owns many at once; what is refused is said", async (page, open) => {
    await server.as(page, "a writer");
    await open("catalogue/datasets");
    await page.getByRole("checkbox", { name: "Tick all rows of this page" }).check();
    await page.getByLabel("The tag").fill("team:shop");
    await page.getByRole("button", { name: "Add to all" }).click();
    await page.getByRole("button", { name: "team:shop" }).waitFor();
    // Rows are asked for again while the changes are still being made: the last one comes last.
    const rows = await page.locator("tbody tr").count();
    await page
      .locator("td .tag", { hasText: "team:shop" })
      .nth(rows - 1)
      .waitFor();
    assert.equal(await page.locator("td .tag", { hasText: "team:shop" }).count(), rows);
    await page.getByRole("checkbox", { name: /Tick dataset:.*revenue/ }).check();
    await page.getByLabel("Add to all").selectOption("owner");
    await page.getByLabel("The owner").fill("bo");
    await page.getByRole("button", { name: "Add to all" }).click();
    await page.getByRole("cell", { name: "bo", exact: true }).waitFor();
    await open("catalogue/jobs");
    await page.getByRole("checkbox", { name: "Tick all rows of this page" }).check();
    await page.getByLabel("The tag").fill("nightly");
    await page.getByRole("button", { name: "Add to all" }).click();
    const jobs = await page.locator("tbody tr").count();
    await page
      .locator("td .tag", { hasText: "nightly" })
      .nth(jobs - 1)
      .waitFor();
    assert.equal(await page.locator("td .tag", { hasText: "nightly" }).count(), jobs);
    await open("catalogue/teams");
    await page.getByRole("table", { name: "Teams" }).getByText("shop").waitFor();
    await open("settings/audit");
    await page.getByText("This needs the role admin").waitFor();
  });
});

describe("an admin", () => {
  onPage("makes keys, and sees who changed what", async (page, open) => {
    await server.as(page, "admin");
    await open("settings/keys");
    await page.getByText("a reader", { exact: false }).first().waitFor();
    await page.getByLabel("Name of the key").waitFor();
    await open("settings/audit");
    await page.getByText("a writer").first().waitFor();
  });
});
