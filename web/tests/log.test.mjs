// Who changed what, in a real Chromium against the real server: the log and blame of an object, the order of a DAG, the proof beside prune's
// advice, and the comment of a review. What each shows is in its address.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe } from "node:test";
import { fileURLToPath } from "node:url";
import { openBrowser, pageTests, seg } from "./browser.mjs";
import { altered, dag, measures, send } from "./seed.mjs";
import { serve } from "./server.mjs";

const REVIEW = join(dirname(fileURLToPath(import.meta.url)), "data/review.json");
const LINES = seg("snowflake://acme-eu:db.lines");

let browser;
let server;

before(async () => {
  browser = await openBrowser();
  server = await serve((url) => send(url, [...altered(), ...dag(), ...measures()]));
});
after(async () => {
  await browser?.close();
  await server?.close();
});
const onPage = pageTests(() => ({ browser, server }));
const rows = (page, label) => page.getByRole("region", { name: label }).locator("tbody tr");
const texts = (page, label) =>
  rows(page, label).evaluateAll((all) => all.map((one) => one.innerText.replace(/\s+/g, " ")));

describe("the log of an object", () => {
  onPage("names who changed it, under its earlier name too, and who is unknown", async (page, open) => {
    await open(`datasets/${LINES}`);
    await page.getByRole("link", { name: "Log and blame" }).click();
    await page.waitForURL(/\/log$/);
    await rows(page, "Changes of the object").first().waitFor();
    await page.getByText("Earlier names: db.items").waitFor();
    const changes = await texts(page, "Changes of the object");
    assert.equal(changes.length, 5);
    assert.match(changes[0], /column added note: text unknown: seen in the schema –/);
    assert.match(changes[1], /column retyped id: int → bigint unknown: seen in the schema/);
    assert.match(
      changes[2],
      /column renamed tax → vat bob@acme.example shop.migrations\s*alter table db.lines rename column tax to vat/,
    );
    assert.match(changes[3], /renamed db.items → db.lines bob@acme.example/);
    assert.match(changes[4], /created db.items ann@acme.example create table db.items/);
    const blame = await texts(page, "Blame");
    assert.equal(blame.length, 3);
    assert.match(
      blame.find((row) => row.startsWith("vat")),
      /numeric .* column renamed tax → vat bob@acme.example/,
    );
  });

  onPage("of one column: from the table, in the address, and back", async (page, open) => {
    await open(`datasets/${LINES}/log`);
    await rows(page, "Blame").getByRole("link", { name: "vat" }).click();
    await page.waitForURL(/column=vat/);
    await page.getByRole("heading", { name: "Changes of vat" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Changes of vat" }).waitFor();
    await rows(page, "Changes of the object").first().waitFor();
    const changes = await texts(page, "Changes of the object");
    assert.deepEqual(
      changes.map((row) => row.match(/(column renamed|renamed|created) /)?.[1]),
      ["column renamed", "renamed", "created"],
    );
    await page.getByRole("link", { name: "of all columns" }).click();
    await page.waitForFunction(() => !location.search.includes("column"));
    await page.goBack();
    await page.getByRole("heading", { name: "Changes of vat" }).waitFor();
  });

  onPage(
    "as of a time it ends there",
    async (page, open) => {
      const then = new Date(Date.now() - 26 * 86_400_000).toISOString().replace(/\.\d+Z/, "Z");
      await open(`datasets/${LINES}/log?asOf=${then}`);
      await page.getByText("It was not known yet at that time").waitFor();
      const later = new Date(Date.now() - 15 * 86_400_000).toISOString().replace(/\.\d+Z/, "Z");
      await open(`datasets/${LINES}/log?asOf=${later}`);
      await rows(page, "Changes of the object").first().waitFor();
      assert.equal((await texts(page, "Changes of the object")).length, 3);
    },
    { expected: ["404"] },
  );

  onPage("stands on the page of a column", async (page, open) => {
    await open(`columns/${LINES}/vat`);
    await rows(page, "Changes of the object").first().waitFor();
    assert.match((await texts(page, "Changes of the object"))[0], /column renamed tax → vat bob/);
  });
});

describe("the order of a DAG", () => {
  onPage("says what is missing, with the run in which luck was out, and what is needless", async (page, open) => {
    await open(`jobs/${seg("shop:nightly")}`);
    await page.getByRole("link", { name: "Order", exact: true }).click();
    await page.getByText("Of 4 tasks: 1 dependency missing, 1 needless, read before it was written 1 time.").waitFor();
    await page.getByRole("heading", { name: "clean >> report" }).waitFor();
    await page.getByText("In 3 of 4 runs it was written in time.").waitFor();
    const runs = await texts(page, "Runs of clean and report");
    assert.equal(runs.length, 4);
    assert.match(runs[0], /read before it was written 41 min 0 s/);
    assert.match(runs[1], /lucky 29 min 0 s/);
    await page.getByText("load >> audit").waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "clean >> report" }).waitFor();
    await rows(page, "Runs of clean and report").first().getByRole("link").click();
    await page.waitForURL(/\/runs\//);
  });

  onPage("is no tab of a job without tasks", async (page, open) => {
    await open(`jobs/${seg("shop:nightly.clean")}`);
    await page.getByRole("navigation", { name: "Of this job" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Order", exact: true }).count(), 0);
  });
});

describe("the advice to remove", () => {
  onPage("says for how long a reader would have been seen, and how the rule was proven", async (page, open) => {
    await open("usage/pruning");
    await rows(page, "What may be removed").filter({ hasText: "84 days" }).first().waitFor();
    await page.getByText("0 errors, 99.7 % of the unused bytes found").waitFor();
    await page.getByText("The replay of the example's warehouse").click();
    const replays = await texts(page, "Replays");
    assert.equal(replays.length, 6);
    assert.equal(replays[5], "1–5 8 1,961 242 0");
  });
});

describe("a review", () => {
  onPage(
    "is opened from its file, and is in the address",
    async (page, open) => {
      await open("whatif");
      await page.getByRole("link", { name: "A pull request" }).click();
      await page.getByLabel("The review's file").setInputFiles(REVIEW);
      await page.getByText("1 would break, 2 would hold other values, of 4 texts.").waitFor();
      await page.getByText("The policy refuses 1 effect.").waitFor();
      const notices = await texts(page, "What notices");
      assert.match(notices[0], /breaks perhaps shop\/revenue.sql:1 shop.revenue it names amount shop.orders/);
      assert.match((await texts(page, "Who notices"))[0], /Revenue, this month dashboard breaks amount/);
      await page.getByText("Edited without effect").waitFor();
      await page.getByText("shop/odd.sql:3: could not be read").waitFor();
      await page.getByRole("link", { name: /^changes values 2/ }).click();
      await page.waitForURL(/effect=changes_values/);
      await page.waitForFunction(() => document.querySelectorAll("[aria-label='What notices'] tbody tr").length === 2);
      await page.reload();
      await page.getByText("1 would break, 2 would hold other values, of 4 texts.").waitFor();
      assert.equal((await texts(page, "What notices")).length, 2);
      await page.getByRole("link", { name: "What if" }).last().click();
      await page.waitForURL(/whatif\?do=rename&of=shop.every_order.amount&to=cents/);
    },
    { expected: ["404"] },
  );

  onPage("is refused with a reason if it is none, and if its address was cut", async (page, open) => {
    await open("review");
    await page.getByLabel("The review's text").fill('{"texts": 1}');
    await page.getByText("This JSON is not a review.").waitFor();
    await page.getByLabel("The review's text").fill(readFileSync(REVIEW, "utf8"));
    await page.getByText("1 would break").waitFor();
    const whole = page.url();
    await open("");
    await page.goto(whole.slice(0, -20));
    await page.getByText("it may have been cut").waitFor();
  });
});
