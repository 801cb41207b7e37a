// The graph in a real Chromium: what is placed stays, groups, explained edges, times, single runs; and a file that is dropped.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openBrowser, pageTests, seg, settled } from "./browser.mjs";
import { flights, run, schedules, send, shop } from "./seed.mjs";
import { serve } from "./server.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const CLEAN = "dataset:file:/data/clean/flights";
const REVENUE = "dataset:postgres://shop:5432:shop.public.revenue";
const DAY = 24 * 60 * 60_000;
const lineage = (id, query = "") => `lineage/${seg(id)}${query}`;

let browser;
let server;
before(async () => {
  browser = await openBrowser();
  server = await serve(async (url) => {
    await send(url, [...flights(), ...shop()]);
    await schedules(url);
  });
});
after(async () => {
  await browser?.close();
  await server?.close();
});
const onPage = pageTests(() => ({ browser, server }));

const nodes = (page) => page.locator(".graph").getAttribute("data-nodes").then(Number);
const changed = (page, was) =>
  page.waitForFunction((n) => Number(document.querySelector(".graph").dataset.nodes) !== n, was);
/** Where each card is on the screen. */
const places = (page) =>
  page.$$eval("[data-card]", (all) =>
    Object.fromEntries(
      all.map((one) => {
        const { x, y } = one.getBoundingClientRect();
        return [one.dataset.card, [Math.round(x), Math.round(y)]];
      }),
    ),
  );
function assertUnmoved(were, are) {
  const kept = Object.keys(were).filter((id) => id in are);
  assert.ok(kept.length > 1, "some card was there before and after");
  for (const id of kept)
    for (const axis of [0, 1])
      assert.ok(Math.abs(were[id][axis] - are[id][axis]) <= 1, `${id}: ${were[id]} → ${are[id]}`);
}
/** The middle of the gap between two cards that stand side by side. */
async function between(page, left, right) {
  const box = (id) => page.locator(`[data-card=${JSON.stringify(id)}]`).boundingBox();
  const [a, b] = [await box(left), await box(right)];
  return [(a.x + a.width + b.x) / 2, (a.y + b.y + b.height) / 2];
}

describe("what is placed", () => {
  onPage("stays where it is when a level opens and closes again", async (page, open) => {
    await open(lineage(CLEAN, "?depth=1"));
    await settled(page);
    const were = await places(page);
    const count = await nodes(page);
    await page.getByRole("button", { name: "One step more", exact: true }).first().click();
    await changed(page, count);
    await settled(page);
    assertUnmoved(were, await places(page));
    const more = await nodes(page);
    await page.goBack();
    await changed(page, more);
    await settled(page);
    assert.deepEqual(Object.keys(await places(page)).sort(), Object.keys(were).sort());
    assertUnmoved(were, await places(page));
  });

  onPage("stays when the time moves, and the slider says which time", async (page, open) => {
    await open(lineage(REVENUE, "?times=true"));
    await settled(page);
    const were = await places(page);
    const count = await nodes(page);
    await page.getByRole("button", { name: "To the change before" }).click();
    await page.waitForFunction(() => location.search.includes("asOf"));
    await page.getByRole("button", { name: "To the change before" }).click();
    await page.getByRole("button", { name: "To the change before" }).click();
    await changed(page, count);
    await settled(page);
    assert.ok((await nodes(page)) < count);
    assertUnmoved(were, await places(page));
    const slider = page.getByRole("slider", { name: "As of" });
    assert.match(await slider.getAttribute("aria-valuetext"), /^\d{4}-\d\d-\d\d .* UTC$/);
    const fewer = await nodes(page);
    await slider.press("End");
    await page.waitForFunction(() => !location.search.includes("asOf"));
    await changed(page, fewer);
    await settled(page);
    assertUnmoved(were, await places(page));
  });

  onPage("two times are compared by a second slider", async (page, open) => {
    const since = new Date(Date.now() - 2.5 * DAY).toISOString().replace(/\.\d+Z/, "Z");
    await open(lineage(REVENUE, `?since=${since}&times=true`));
    await settled(page);
    await page.getByText(/Compared with .*nodes: \d+ added/).waitFor();
    await page.getByRole("slider", { name: "Compared with" }).press("End");
    await page.getByText(/Compared with .*no node changed/).waitFor();
  });
});

describe("groups", () => {
  onPage("count what they stand for, open, and close", async (page, open) => {
    await open(lineage(CLEAN, "?depth=9&fold=none"));
    await settled(page);
    const all = await nodes(page);
    await page.getByRole("combobox", { name: "Groups" }).selectOption({ label: "By namespace" });
    await changed(page, all);
    const folded = await page.$$eval(".fold", (some) => some.map((one) => Number(one.textContent.slice(1))));
    assert.equal(
      folded.reduce((sum, n) => sum + n, 0) + (await nodes(page)) - folded.length,
      all,
      "no node without a count",
    );
    const grouped = await nodes(page);
    await page.getByRole("button", { name: /^Open the \d+ of file/ }).click();
    await changed(page, grouped);
    await page.getByRole("button", { name: "Close it" }).click();
    await page.waitForFunction((n) => Number(document.querySelector(".graph").dataset.nodes) === n, grouped);
  });
});

describe("an edge", () => {
  onPage("says under the pointer who claims it, and shows its sources when clicked", async (page, open) => {
    await open(lineage(CLEAN, "?depth=1"));
    await settled(page);
    const at = await between(page, "job:flights:clean-flights.flights", CLEAN);
    await page.mouse.move(...at);
    const label = await page.locator(".far-label").innerText();
    assert.match(label, /clean-flights\.flights → clean\/flights/);
    assert.match(label, /writes · seen in runs/);
    assert.match(label, /since \d{4}-\d\d-\d\d/);
    await page.mouse.click(...at);
    await page.getByRole("heading", { name: "Who says so" }).waitFor();
    await page.getByText("The SQL of").waitFor();
    assert.ok((await page.locator(".inspector").getByText("reported by events").count()) > 0);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.search.includes("edge"));
  });
});

describe("lenses", () => {
  for (const [lens, word] of [
    ["Cost", "not measured"],
    ["Personal data", "columns with personal data"],
    ["Completeness", "every column traced"],
    ["Disagreements", "sources disagree about its origin"],
  ])
    onPage(`${lens}: its colours come with words`, async (page, open) => {
      await open(lineage(CLEAN, "?depth=1"));
      await settled(page);
      await page.getByRole("combobox", { name: "Lens" }).selectOption({ label: lens });
      await page.locator(".legend").getByText(word).waitFor();
    });
});

describe("single runs", () => {
  onPage("are drawn with what they read and wrote, and lead to each other", async (page, open) => {
    const { runs } = await (await page.request.get(`${server.url}api/v2/runs?limit=300`)).json();
    const one = runs.find(({ job }) => job.endsWith("clean-flights.flights"));
    await open(`runs/${one.id}`);
    await page.getByRole("link", { name: "Lineage of the run" }).click();
    await settled(page);
    assert.ok((await page.locator(".card.is-run").count()) > 1);
    assert.ok((await page.locator(".card.is-version").count()) > 1);
    await page.locator(".card.is-version").first().locator(".card-head").click();
    await page.locator(".inspector").getByText("Written").waitFor();
    await page.getByRole("button", { name: "Start here" }).click();
    await page.waitForFunction((id) => !location.pathname.includes(id), one.id);
    await settled(page);
    await page.locator(".card.is-root.is-version").waitFor();
  });

  onPage("instances too, by their schedule", async (page, open) => {
    await open(lineage("weather@2013-03-12T04-04:00"));
    await settled(page);
    assert.ok((await page.locator(".card.is-instances").count()) > 1);
  });
});

describe("a file that is dropped", () => {
  const folder = mkdtempSync(join(tmpdir(), "headwater-dropped-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const drop = async (page, name, text) => {
    const data = await page.evaluateHandle(
      ([file, content]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([content], file));
        return transfer;
      },
      [name, text],
    );
    await page.dispatchEvent(".drop", "drop", { dataTransfer: data });
  };

  test("is known to the server under the fingerprint that the command line gives it", async () => {
    const path = join(folder, "prices.csv");
    writeFileSync(path, "day,price\n1,2\n");
    const fingerprint = execFileSync(join(ROOT, ".venv/bin/headwater"), ["fingerprint", path], { encoding: "utf8" })
      .trim()
      .split(/\s+/)[0];
    assert.match(fingerprint, /^xxh3-128:[0-9a-f]{32}$/);
    const item = { _producer: "https://example.org", _schemaURL: "https://example.org/1.json", fingerprint, bytes: 14 };
    await send(
      server.url,
      run("import prices", Date.now() - 60_000, {
        inputs: [{ namespace: "file", name: "/landing/prices.csv", facets: {}, inputFacets: { headwater_item: item } }],
        took: 1000,
      }).events,
    );
  });

  onPage("is answered: imported, when, by which run, as what", async (page, open) => {
    await open("trace");
    await drop(page, "prices.csv", "day,price\n1,2\n");
    await page.getByText("Yes, 1 time").waitFor();
    await page.getByRole("table", { name: "Imports" }).getByRole("link", { name: "import prices" }).waitFor();
    await page.getByRole("table", { name: "Every step" }).waitFor();
    await page.getByRole("link", { name: "Draw it" }).click();
    await settled(page);
  });

  onPage(
    "is answered when it was never imported",
    async (page, open) => {
      await open("trace");
      await drop(page, "other.csv", "something else");
      await page.getByText("No run that completed has read this content").waitFor();
      await page.getByText("Headwater knows no step with it").waitFor();
    },
    { expected: ["404"] },
  );
});
