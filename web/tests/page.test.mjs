// The page in a real Chromium. HEADWATER_URL=http://… runs what does not depend on the data against that server.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { at, node, openBrowser, openPage, overlapping, panning, settled, sweep } from "./browser.mjs";
import { HOSTILE } from "./fixtures.mjs";
import { serve } from "./server.mjs";

const CLEAN = "dataset:file:/data/clean/flights";
const RAW = "dataset:file:/data/raw/flights";
const external = process.env.HEADWATER_URL?.replace(/\/?$/, "/");
const onFixtures = { skip: external ? "needs the fixtures" : false };

let browser;
let server;
let base;

before(async () => {
  browser = await openBrowser();
  if (external) base = external;
  else {
    server = await serve();
    base = server.url;
  }
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** Runs the steps in a new tab; whatever they do, the page must not have made an error. */
function onPage(name, options, steps) {
  test(name, options, async (t) => {
    const { page, problems } = await openPage(browser.context);
    try {
      await steps(page, t);
      assert.deepEqual(problems, []);
    } finally {
      await page.close();
    }
  });
}
const params = (page) => Object.fromEntries(new URL(page.url()).searchParams);

describe("any server", () => {
  onPage("a recent dataset leads to its graph, reload shows the same, back goes back", {}, async (page) => {
    await page.goto(base);
    const first = page.locator("section[aria-labelledby=recent-datasets] li a").first();
    await first.click();
    const view = await settled(page);
    const { node: id, selected } = params(page);
    assert.ok(id.startsWith("dataset:"));
    assert.equal(selected, id);
    assert.ok((await page.locator("[data-card]").count()) > 0 || Number(view.split(" ")[2]) < 0.42);
    const heading = await page.locator(".panel h2").innerText();
    await page.reload();
    await settled(page);
    assert.equal(params(page).node, id);
    assert.equal(await page.locator(".panel h2").innerText(), heading);
    await page.goBack();
    await page.waitForSelector("h1");
    assert.deepEqual(params(page), {});
  });

  onPage("a search finds what the start page lists", {}, async (page) => {
    await page.goto(base);
    const label = (await page.locator("section[aria-labelledby=recent-datasets] strong").first().innerText()).slice(
      0,
      60,
    );
    await page.getByRole("textbox").fill(label);
    await page.getByRole("option").first().waitFor();
    assert.equal(params(page).q, label);
    await page.keyboard.press("Enter");
    await settled(page);
    assert.ok(params(page).node);
  });

  onPage("light and dark", {}, async (page) => {
    await page.goto(base);
    const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await colour();
    await page.getByRole("button", { name: "Use dark colours" }).click();
    await page.waitForFunction((was) => getComputedStyle(document.body).backgroundColor !== was, light);
    const dark = await colour();
    assert.equal(params(page).theme, "dark");
    await page.reload();
    assert.equal(await colour(), dark);
    await page.goto(base);
    assert.equal(await colour(), dark, "the choice is remembered");
    await page.getByRole("button", { name: "Use light colours" }).click();
    await page.evaluate(() => localStorage.clear());
    await page.emulateMedia({ colorScheme: "dark" });
    await page.goto(base);
    assert.equal(await colour(), dark, "the system's preference counts");
  });

  onPage("every control has a name", {}, async (page) => {
    await page.goto(base);
    await page.locator("section[aria-labelledby=recent-datasets] li a").first().click();
    await settled(page);
    const nameless = await page.$$eval("button, input, select, a", (elements) =>
      elements
        .filter((e) => e.getClientRects().length)
        .filter((e) => !(e.getAttribute("aria-label") || e.labels?.length || e.innerText?.trim() || e.title))
        .map((e) => e.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(nameless, []);
  });
});

describe("the flights example", onFixtures, () => {
  onPage("search, select, see the graph", {}, async (page) => {
    await page.goto(base);
    await page.locator("h1").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("delay_by");
    await page.getByRole("option").first().waitFor();
    assert.match(await page.getByRole("option").first().innerText(), /delay_by_carrier/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await settled(page);
    assert.equal(params(page).node, "dataset:s3://analytics-lake:marts/delay_by_carrier");
    const graph = page.locator(".graph");
    assert.equal(Number(await graph.getAttribute("data-nodes")), 11);
    assert.match(await page.locator(".panel").innerText(), /windy_share/);
  });

  onPage("a search says what matched", {}, async (page) => {
    await page.goto(`${base}?q=visibility`);
    await page.getByRole("textbox").click();
    const option = page.getByRole("option").first();
    assert.match(await option.innerText(), /weather_hourly[\s\S]*column visibility/);
  });

  onPage("a column lights up its whole path on hover and stays on click", {}, async (page) => {
    await page.goto(at(base, { node: CLEAN, columns: "1" }));
    await settled(page);
    await node(page, CLEAN).locator("[data-field=dep_delay]").hover();
    await page.waitForSelector(".graph.is-tracing");
    const lit = () =>
      page.$$eval(".row.is-on", (rows) =>
        rows.map((row) => `${row.closest("[data-card]").dataset.card} ${row.dataset.field}`).sort(),
      );
    const path = [
      `${CLEAN} dep_delay`,
      `${RAW} dep_delay`,
      "dataset:s3://analytics-lake:marts/delay_by_carrier mean_delay",
    ].sort();
    assert.deepEqual(await lit(), path);
    const traced = await page.$$eval(".card.is-traced", (cards) => cards.map((card) => card.dataset.card));
    assert.ok(traced.includes("job:flights:delay-report"), "columns that end in a job");
    assert.ok(traced.includes("dataset:file:/reports/delays.html"), "and what that job wrote");
    await page.mouse.move(700, 880);
    await page.waitForSelector(".graph:not(.is-tracing)");
    await node(page, CLEAN).locator("[data-field=dep_delay]").click();
    await page.mouse.move(500, 880);
    await settled(page);
    assert.deepEqual(await lit(), path);
    assert.deepEqual([params(page).field, params(page).selected], ["dep_delay", CLEAN]);
    await page.reload();
    await settled(page);
    assert.deepEqual(await lit(), path);
    await page.keyboard.press("Escape");
    await page.waitForSelector(".graph:not(.is-tracing)");
    assert.equal(params(page).field, undefined);
  });

  onPage("indirect dependencies count when they are shown", {}, async (page) => {
    const raw = { node: CLEAN, columns: "1", selected: RAW, field: "air_time" };
    await page.goto(at(base, raw));
    await settled(page);
    const lit = () => page.locator(".card.is-traced").count();
    assert.equal(await lit(), 1);
    await page.getByRole("switch", { name: "Indirect" }).click({ force: true });
    await page.waitForFunction(() => document.querySelectorAll(".card.is-traced").length > 1);
    assert.equal(params(page).indirect, "1");
  });

  onPage("a wide table folds and opens", {}, async (page) => {
    await page.goto(at(base, { node: CLEAN, columns: "1" }));
    await settled(page);
    const rows = () => node(page, RAW).locator("[data-field]").count();
    assert.equal(await rows(), 12);
    await node(page, RAW).getByText("+ 7 more").click();
    await settled(page);
    assert.equal(await rows(), 19);
  });

  onPage("every control is in the address, back undoes it and reload keeps it", {}, async (page) => {
    await page.goto(at(base, { node: CLEAN }));
    await settled(page);
    await page.getByText("Upstream", { exact: true }).click();
    await page.waitForFunction(() => document.querySelector(".graph")?.dataset.nodes === "4");
    await page.getByLabel("Depth").fill("1");
    await page.getByLabel("As of, UTC").fill("2026-01-02T03:04:05");
    await settled(page);
    const wanted = { node: CLEAN, direction: "upstream", depth: "1", asOf: "2026-01-02T03:04:05Z" };
    assert.deepEqual(params(page), wanted);
    await page.reload();
    await settled(page);
    assert.deepEqual(params(page), wanted);
    assert.equal(await page.getByLabel("As of, UTC").inputValue(), "2026-01-02T03:04:05");
    await page.goBack();
    assert.equal(params(page).asOf, undefined);
    await page.goBack();
    await page.goBack();
    assert.deepEqual(params(page), { node: CLEAN });
    await page.waitForFunction(() => document.querySelector(".graph")?.dataset.nodes === "10");
  });

  onPage("a handle shows how much is hidden and leads there", {}, async (page) => {
    await page.goto(at(base, { node: CLEAN, depth: "1" }));
    await settled(page);
    await page.getByRole("button", { name: "1 more downstream of delay_by_carrier" }).click();
    await page.waitForSelector('[data-card="job:flights:delay-report"]');
    assert.equal(params(page).depth, "2");
    await settled(page);
    await page.getByRole("button", { name: /more upstream of delay-mart/ }).click();
    await page.waitForSelector('[data-card="dataset:file:/data/clean/weather_hourly"]');
    assert.equal(params(page).node, "job:flights:delay-mart.delay_by_carrier");
  });

  onPage("the keyboard walks the graph", {}, async (page) => {
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await page.goto(at(base, { node: CLEAN }));
    await settled(page);
    await page.locator(".graph").focus();
    const current = () => page.locator(".card.is-current").getAttribute("data-card");
    assert.equal(await current(), CLEAN);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await current(), "job:flights:clean-flights.flights");
    await page.keyboard.press("Enter");
    await page.locator(".panel h2").waitFor();
    assert.equal(params(page).selected, "job:flights:clean-flights.flights");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    assert.match(await current(), /^job:flights:(fleet|delay)-mart/);
    await page.keyboard.press("Escape");
    await page.waitForSelector(".panel", { state: "detached" });
    const before = await settled(page);
    await page.keyboard.press("-");
    const zoomed = await settled(page);
    assert.notEqual(zoomed, before);
    await page.keyboard.press("f");
    assert.notEqual(await settled(page), zoomed);
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  });

  onPage("panels: schema, versions, jobs, runs, an error with its trace, who wrote what was read", {}, async (page) => {
    const panel = page.locator(".panel");
    await page.goto(at(base, { node: CLEAN, selected: CLEAN }));
    await panel.getByText("Actual departure, UTC").waitFor();
    await panel.getByRole("tab", { name: /Versions/ }).click();
    await panel.getByText("336,776").first().waitFor();
    assert.equal(params(page).tab, "versions");
    await panel.getByRole("tab", { name: /Facets/ }).click();
    await panel.getByText("lifecycleStateChange", { exact: true }).click();
    await panel.getByText('"lifecycleStateChange": "OVERWRITE"').waitFor();
    await page.goto(
      at(base, {
        node: "dataset:file:/data/clean/weather_hourly",
        selected: "job:flights:clean-flights.weather_hourly",
      }),
    );
    await panel.locator(".state", { hasText: "FAILED" }).waitFor();
    await panel.locator(".run").first().click();
    await panel.locator("pre.trace", { hasText: "Traceback" }).waitFor();
    await panel.getByText("2013-01-01").waitFor();
    await panel.getByText("3f9c1d2ab4e5").waitFor();
    assert.ok(params(page).run);
    await panel.getByText("run of clean-flights", { exact: true }).click();
    await panel.getByText("Child runs (2)").waitFor();
    await page.goBack();
    await panel.locator("pre.trace", { hasText: "Traceback" }).waitFor();
    await panel.getByRole("button", { name: "back" }).click();
    await panel.getByRole("tab", { name: /Inputs and outputs/ }).click();
    await panel.getByText("/data/raw/weather").waitFor();
  });

  onPage("works under a sub-path", {}, async (page) => {
    await page.goto(`${base}sub/?node=${CLEAN}`);
    await settled(page);
    assert.equal(await page.locator(".graph").getAttribute("data-nodes"), "10");
  });

  test("a server that is down is said, and Try again tries again", async () => {
    const { page } = await openPage(browser.context);
    try {
      server.control.down = true;
      await page.goto(at(base, { node: CLEAN }));
      await page.getByText("The server does not answer").waitFor();
      server.control.down = false;
      await page.getByRole("button", { name: "Try again" }).click();
      await settled(page);
      server.control.down = true;
      await page.getByLabel("Depth").fill("2");
      await page.getByRole("alert").waitFor();
    } finally {
      server.control.down = false;
      await page.close();
    }
  });

  test("a node that is not known is said", async () => {
    const { page } = await openPage(browser.context);
    await page.goto(at(base, { node: "dataset:no:such" }));
    await page.getByText("no node dataset:no:such").waitFor();
    await page.close();
  });
});

describe("five nodes", onFixtures, () => {
  onPage("are all in view, none over another", {}, async (page) => {
    await page.goto(at(base, { node: "dataset:file:/shop/orders", columns: "1" }));
    await settled(page);
    const cards = await sweep(page);
    assert.equal(cards.size, 5);
    assert.deepEqual(overlapping(cards), []);
  });
});

describe("500 nodes", onFixtures, () => {
  const big = { node: "dataset:s3://warehouse:big/source", depth: "100" };
  for (const columns of [false, true])
    onPage(`are all reachable, none over another${columns ? ", with columns" : ""}`, {}, async (page, t) => {
      const begun = Date.now();
      await page.goto(at(base, columns ? { ...big, columns: "1" } : big));
      await page.waitForSelector("[data-card]");
      t.diagnostic(`first cards ${Date.now() - begun} ms after the address was opened`);
      await settled(page);
      const layout = await page.evaluate(() =>
        performance.getEntriesByName("headwater:layout").map((e) => Math.round(e.duration)),
      );
      t.diagnostic(`layout in the worker, with the way there and back: ${layout} ms`);
      t.diagnostic(`pan, cards in view: ${await panning(page)}`);
      await page.keyboard.press("f");
      await settled(page);
      t.diagnostic(`pan, all in view: ${await panning(page)}`);
      await page.reload();
      await settled(page);
      const cards = await sweep(page);
      assert.equal(cards.size, 500);
      assert.deepEqual(overlapping(cards), []);
    });
});

describe("hostile names", onFixtures, () => {
  const start = `dataset:hostile:${HOSTILE.script}`;

  onPage("run nothing and break nothing", {}, async (page) => {
    await page.goto(at(base, { node: start, selected: start, columns: "1", depth: "20" }));
    await settled(page);
    assert.equal(await page.locator(".graph").getAttribute("data-nodes"), String(2 * HOSTILE.names.length));
    const cards = await sweep(page);
    assert.deepEqual(overlapping(cards), []);
    await page.getByRole("button", { name: "Fit the graph" }).click();
    await settled(page);
    assert.equal(await page.locator(".panel h2").innerText(), HOSTILE.script);
    for (const name of HOSTILE.names) {
      await page.goto(at(base, { q: name }));
      await page.getByRole("textbox").click();
      await page.getByRole("option").first().waitFor();
    }
    assert.equal(await page.evaluate(() => window.__pwned), undefined);
  });

  onPage("each opens its own graph and panels, within the window", {}, async (page) => {
    for (const [i, name] of HOSTILE.names.entries()) {
      for (const type of ["dataset", "job"]) {
        const id = HOSTILE.id(type, i);
        await page.goto(
          at(base, { node: id, selected: id, depth: "1", columns: "1", ...(type === "job" ? {} : { tab: "jobs" }) }),
        );
        await page.locator(".panel h2").waitFor();
        await settled(page);
        assert.equal(params(page).node, id);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        assert.equal(wide, false, `the page scrolls sideways for ${name.slice(0, 40)}`);
        const inner = await page.$eval(".panel", (panel) => panel.scrollWidth > panel.clientWidth);
        assert.equal(inner, false, `the panel scrolls sideways for ${name.slice(0, 40)}`);
      }
    }
    assert.equal(await page.evaluate(() => window.__pwned), undefined);
    assert.equal(await page.locator(".shell img, .shell script, .shell b > i, .shell u").count(), 0);
  });
});
