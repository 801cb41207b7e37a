// The graph by hand: another start, direct and indirect columns, the words of an edge, the map, the whole screen, lenses, the zone of times.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests, settled } from "./browser.mjs";
import { bare, CLEAN, lineage } from "./every-page.mjs";
import { serve } from "./server.mjs";

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
const root = (page) => page.locator(".card.is-root").getAttribute("data-card");
const rooted = (page, id) =>
  page.waitForFunction((id) => document.querySelector(".card.is-root")?.dataset.card === id, id);

describe("the graph by hand", () => {
  onPage("starts elsewhere by a double click and by Shift Enter, and back by the browser", async (page, open) => {
    await open(lineage(CLEAN, "?depth=1"));
    await settled(page);
    const other = page.locator(".card:not(.is-root)").first();
    const id = await other.getAttribute("data-card");
    await other.dblclick({ position: { x: 60, y: 20 } });
    await rooted(page, id);
    await page.goBack();
    await rooted(page, CLEAN);
    await settled(page);
    await page.locator(".graph").focus();
    await page.keyboard.press("ArrowLeft");
    const reached = await page.locator(".card.is-current").getAttribute("data-card");
    await page.keyboard.press("Shift+Enter");
    await rooted(page, reached);
    assert.notEqual(await root(page), CLEAN);
  });

  onPage("draws direct edges of columns, and indirect ones by a switch that the address keeps", async (page, open) => {
    await open(lineage(CLEAN, "?depth=2&columns=true"));
    await settled(page);
    const legend = page.locator(".legend");
    assert.doesNotMatch(await legend.innerText(), /indirect/);
    await page.getByRole("switch", { name: "Indirect" }).press("Space");
    await page.waitForURL(/indirect=true/);
    await legend.getByText("indirect (filter, join)").waitFor();
    await page.reload();
    await legend.getByText("indirect (filter, join)").waitFor();
  });

  onPage("says of a column's edge how the value is made", async (page, open) => {
    await open(lineage(CLEAN, "?depth=1&columns=true"));
    await settled(page);
    const box = await page.locator(".graph").boundingBox();
    let said = "";
    for (let y = box.y + 30; y < box.y + box.height - 30 && !said; y += 7)
      for (let x = box.x + 40; x < box.x + box.width - 40 && !said; x += 60) {
        await page.mouse.move(x, y);
        const label = await page.locator(".far-label").allInnerTexts();
        if (/identity|unchanged|transformation|aggregat|as it is|direct/i.test(label.join())) said = label.join();
      }
    assert.match(said, /→/);
  });

  onPage("has a map whose click moves the view, and takes the whole screen", async (page, open) => {
    await open(lineage("dataset:grid:grid.d0_0", "?depth=9"));
    await settled(page);
    await page.keyboard.press("f");
    const x = (view) => Number(view.split(" ")[0]);
    const was = await settled(page);
    const map = await page.locator(".minimap").boundingBox();
    await page.mouse.click(map.x + map.width - 12, map.y + map.height / 2);
    assert.ok(x(await settled(page)) < x(was), "the right end comes into the middle");
    await page.getByRole("button", { name: "Full screen" }).click();
    await page.waitForFunction(() => document.fullscreenElement !== null);
    // Notices and details come along.
    assert.match(await page.evaluate(() => document.fullscreenElement.className), /lineage|stage/);
    await page.evaluate(() => document.exitFullscreen());
  });

  onPage("shows columns when their edges are there, and places its cards once", async (page, open) => {
    await open(lineage("dataset:grid:grid.d0_0", "?depth=9"));
    await settled(page);
    let answer;
    await page.route("**/api/v2/lineage?*columns=true*", async (route) => {
      await new Promise((resolve) => (answer = resolve));
      await route.continue();
    });
    await page.evaluate(() => performance.clearMeasures());
    await page.getByRole("switch", { name: "Columns" }).press("Space");
    await page.waitForURL(/columns=true/);
    await settled(page);
    const placings = () => page.evaluate(() => performance.getEntriesByName("headwater:layout").length);
    assert.equal(await placings(), 0);
    answer();
    await page.locator(".card .row").first().waitFor();
    await settled(page);
    assert.equal(await placings(), 1);
  });

  onPage("a drawing that was moved and moved back looks as it did", async (page, open) => {
    await open(lineage("dataset:grid:grid.d0_0", "?depth=9"));
    await settled(page);
    await page.keyboard.press("f");
    await settled(page);
    /** By how much the most different pixel of the canvas differs from what was first seen, of 255. */
    const difference = () =>
      page.$eval("canvas.wires", (canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        // A colour counts by as much as it covers: that of a pixel nearly clear is noise.
        const now = data.map((value, i) => (i % 4 === 3 ? value : (value * data[i | 3]) / 255));
        window.__first ??= now;
        return now.reduce((most, value, i) => Math.max(most, Math.abs(value - window.__first[i])), 0);
      });
    assert.equal(await difference(), 0);
    const box = await page.locator(".graph").boundingBox();
    for (const [across, down] of [
      [230, 170],
      [-190, -210],
      [-150, 130],
      [140, -90],
    ]) {
      const [x, y] = [box.x + box.width / 2, box.y + (down < 0 ? 420 : 20)];
      await page.mouse.move(x, y);
      await page.mouse.down();
      for (const part of [0.4, 1, 0.3, 0]) {
        await page.mouse.move(x + across * part, y + down * part);
        await settled(page);
        if (part === 1) assert.ok((await difference()) > 100, "it has moved");
      }
      await page.mouse.up();
      // Where a curve is cut, its edge is smoothed a little differently.
      const left = await difference();
      assert.ok(left < 80, `${across} ${down}: ${left}`);
    }
  });

  onPage("glides to another view, and ends where it jumps to for who wants no motion", async (page, open) => {
    await page.addInitScript(() => {
      // The page's clock goes slower than this machine draws, however busy it is: a glide has frames.
      const [now, frame] = [performance.now.bind(performance), window.requestAnimationFrame.bind(window)];
      performance.now = () => now() / 8;
      window.requestAnimationFrame = (draw) => frame((at) => draw(at / 8));
      window.__views = new Set();
      const look = () => {
        const view = document.querySelector(".graph")?.dataset.view;
        if (view) window.__views.add(view);
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    const seen = {};
    for (const motion of ["reduce", "no-preference"]) {
      await page.emulateMedia({ reducedMotion: motion });
      await open(lineage("dataset:grid:grid.d0_0", "?depth=9"));
      await settled(page);
      await page.evaluate(() => window.__views.clear());
      await page.locator(".graph").focus();
      await page.keyboard.press("f");
      await page.waitForTimeout(2500);
      seen[motion] = { end: await settled(page), views: await page.evaluate(() => window.__views.size) };
    }
    assert.equal(seen["no-preference"].end, seen.reduce.end);
    assert.ok(seen.reduce.views <= 2, `${seen.reduce.views} views without motion`);
    assert.ok(seen["no-preference"].views > 2, `${seen["no-preference"].views} views with motion`);
  });

  onPage("stays as it was left behind its table and beside the panel", async (page, open) => {
    await open(lineage("dataset:grid:grid.d0_0", "?depth=9"));
    await settled(page);
    await page.locator(".graph").focus();
    for (const key of ["f", "+", "+"]) await page.keyboard.press(key);
    const left = await settled(page);
    await page.keyboard.press("t");
    await page.getByRole("table", { name: "Nodes of the graph" }).waitFor();
    assert.equal(await page.locator(".graph").isVisible(), false);
    await page.keyboard.press("t");
    assert.equal(await settled(page), left);
    const widths = () => page.locator(".wires").evaluateAll((all) => all.map((one) => one.width));
    const [before, room] = [await widths(), await page.locator(".graph").boundingBox()];
    await page.locator(".graph").focus();
    await page.keyboard.press("Enter");
    await page.locator(".inspector").waitFor();
    assert.ok((await page.locator(".graph").boundingBox()).width < room.width - 200);
    assert.deepEqual(await widths(), before, "the canvases are not emptied");
    // What the panel would cover was moved.
    const card = await page.locator(".card.is-selected").boundingBox();
    const panel = await page.locator(".inspector").boundingBox();
    assert.ok(card.x + card.width <= panel.x, `${card.x} + ${card.width} is under ${panel.x}`);
  });

  onPage("has pages as a table, and opens the one that holds the selected node", async (page, open) => {
    await open(lineage("dataset:grid:grid.d0_0", "?depth=100"));
    await settled(page);
    const all = Number(await page.locator(".graph").getAttribute("data-nodes"));
    assert.ok(all > 100, `${all}`);
    const table = page.getByRole("table", { name: "Nodes of the graph" });
    const names = () => table.locator("tbody .node-link").evaluateAll((some) => some.map((one) => one.title));
    const seen = new Set();
    for (let n = 1; n <= Math.ceil(all / 50); n++) {
      await open(lineage("dataset:grid:grid.d0_0", `?depth=100&view=table&page=${n}`));
      await page.getByText(`Page ${n} of`).waitFor();
      for (const name of await names()) seen.add(name);
    }
    assert.equal(seen.size, all, "every node is on one page");
    const last = [...seen].findLast((name) => name.includes(" grid.d")).replace(" ", ":");
    await open(lineage("dataset:grid:grid.d0_0", `?depth=100&view=table&selected=dataset:${last}`));
    await table.locator("[aria-pressed=true]").waitFor();
    await page.getByRole("button", { name: "Previous" }).click();
    await page.waitForURL(/page=/);
    assert.equal(await table.locator("[aria-pressed=true]").count(), 0);
  });

  for (const [lens, word] of [
    ["Last run", "completed"],
    ["Freshness", "on time"],
    ["Usage", "read"],
    ["Validity", "no schedule"],
    ["Perspectives", "headwater"],
    ["Tags", "no tag"],
    ["Namespaces", "file"],
  ])
    onPage(`has the lens ${lens}, with words beside its colours, in the address`, async (page, open) => {
      await open(lineage(CLEAN, "?depth=1"));
      await settled(page);
      await page.getByRole("combobox", { name: "Lens" }).selectOption({ label: lens });
      await page.waitForURL(/lens=/);
      const legend = page.locator(".legend");
      await page.waitForFunction(() => document.querySelector(".legend .swatch"));
      await page.waitForFunction(() => !document.querySelector(".legend").innerText.includes("looking it up"));
      assert.ok((await legend.innerText()).toLowerCase().includes(word), await legend.innerText());
    });

  onPage(
    "says of a lens without an answer why, and not that all is well",
    async (page, open) => {
      await page.route("**/api/v2/open-incidents*", (route) =>
        route.fulfill({ status: 503, contentType: "application/json", body: '{"message": "The database is away."}' }),
      );
      await open(lineage(CLEAN, "?depth=1&lens=incidents"));
      await settled(page);
      await page.locator(".legend").getByText("The database is away.").waitFor();
      assert.equal(await page.getByText("no open incident").count(), 0);
    },
    { expected: ["503"] },
  );

  for (const by of ["source", "team", "product", "tag", "owner", "parent"])
    onPage(`groups by ${by}, and no node goes without a count`, async (page, open) => {
      await open(lineage("dataset:postgres://site:5432:site.public.clicks", "?depth=9&fold=none"));
      await settled(page);
      const all = Number(await page.locator(".graph").getAttribute("data-nodes"));
      await open(lineage("dataset:postgres://site:5432:site.public.clicks", `?depth=9&fold=none&group=${by}`));
      await settled(page);
      await page.keyboard.press("f");
      await settled(page);
      const shown = Number(await page.locator(".graph").getAttribute("data-nodes"));
      const folded = await page.$$eval(".fold", (some) => some.map((one) => Number(one.textContent.slice(1))));
      assert.equal(folded.reduce((sum, n) => sum + n, 0) + shown - folded.length, all);
    });

  onPage("shows times in the zone that the address says", async (page, open) => {
    await open(`jobs/${bare("job:shop:load-orders")}`);
    await page.getByRole("link", { name: "UTC", exact: true }).click();
    await page.waitForURL(/zone=local/);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Catalogue" }).click();
    await page.waitForURL(/catalogue.*zone=local/);
    await page.getByRole("link", { name: "Local", exact: true }).click();
    await page.waitForFunction(() => !location.search.includes("zone"));
  });
});
