// What a click makes the page do, counted: requests, and components drawn anew. Times are in benchmarks/page.mjs.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests, settled } from "./browser.mjs";
import { fan, flights, send } from "./seed.mjs";
import { serve } from "./server.mjs";

let browser;
let server;
before(async () => {
  browser = await openBrowser();
  server = await serve((url) => send(url, [...flights(), ...fan(150)]));
});
after(async () => {
  await browser?.close();
  await server?.close();
});
const onPage = pageTests(() => ({ browser, server }));

/** Counts the components that React draws within an element, by the mark that it leaves on each (PerformedWork). */
const countDrawn = (page) =>
  page.addInitScript(() => {
    const PERFORMED_WORK = 1;
    window.__drawn = [];
    const elementOf = (fiber) => {
      for (let one = fiber; one; one = one.return) if (one.stateNode instanceof Element) return one.stateNode;
      return null;
    };
    const walk = (fiber, into) => {
      for (let one = fiber; one; one = one.sibling) {
        // What a commit did not touch is the same object as before.
        if (typeof one.type === "function" || typeof one.type === "object")
          if (one.flags & PERFORMED_WORK) into.push(elementOf(one)?.closest("header, nav, main")?.className ?? "");
        if (one.child && one.child !== one.alternate?.child) walk(one.child, into);
      }
    };
    window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
      supportsFiber: true,
      inject: () => 1,
      onCommitFiberRoot: (_, root) => walk(root.current, window.__drawn),
      onCommitFiberUnmount() {},
    };
  });

/** Counts how often each canvas of the drawing is painted: the edges under the cards, what stands out over them, the map. */
const countPaintings = (page) =>
  page.addInitScript(() => {
    const clear = CanvasRenderingContext2D.prototype.clearRect;
    window.__painted = {};
    CanvasRenderingContext2D.prototype.clearRect = function (...box) {
      const layers = [...document.querySelectorAll(".graph canvas")];
      const name = ["ground", "over", "map"][layers.indexOf(this.canvas)] ?? "other";
      window.__painted[name] = (window.__painted[name] ?? 0) + 1;
      return clear.apply(this, box);
    };
  });

describe("what a click makes the page do", () => {
  onPage("a list is asked for while its code is on its way, once", async (page, open) => {
    const asked = [];
    page.on("request", (request) => {
      if (/api\/v2\/datasets\?limit=100/.test(request.url())) asked.push(request.url());
    });
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route(/catalogue-page-[^/]*\.js/, async (route) => {
      await held;
      await route.continue();
    });
    await open("settings/keys");
    await page.getByRole("heading", { name: "Keys" }).first().waitFor();
    const answered = page.waitForResponse(/api\/v2\/datasets\?limit=100/);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Catalogue" }).click();
    await answered;
    release();
    await page.getByRole("table", { name: "Datasets" }).waitFor();
    assert.equal(asked.length, 1);
  });

  onPage("selecting a card draws nothing of the frame anew but its links", async (page, open) => {
    await countDrawn(page);
    await open("lineage/dataset:file:~data~clean~flights");
    await settled(page);
    await page.locator(".graph").focus();
    await page.keyboard.press("Enter");
    await page.locator(".inspector .facts").waitFor();
    await page.evaluate(() => (window.__drawn = []));
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.locator(".inspector .runs").waitFor();
    const drawn = await page.evaluate(() => window.__drawn);
    const of = (name) => drawn.filter((one) => one.split(" ")[0] === name).length;
    assert.ok(of("lineage") > 0, `something was drawn: ${drawn.length}`);
    // A link looks at each new address whether it leads there; nothing else of the frame depends on it.
    assert.ok(of("top") <= 4, `${of("top")} components of the bar were drawn`);
    assert.ok(of("rail") <= 4, `${of("rail")} components of the rail were drawn`);
  });

  onPage("selecting a card paints what stands out, and no edge or node anew", async (page, open) => {
    await countPaintings(page);
    await open("lineage/dataset:file:~data~clean~flights");
    await settled(page);
    await page.locator(".graph").focus();
    await page.keyboard.press("Enter");
    await page.locator(".inspector .facts").waitFor();
    // The whole in view: nothing has to move to be seen.
    await page.keyboard.press("f");
    await settled(page);
    await page.evaluate(() => (window.__painted = {}));
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.locator(".inspector .runs").waitFor();
    await settled(page);
    const { over, ...others } = await page.evaluate(() => window.__painted);
    assert.deepEqual(others, {});
    assert.ok(over > 0 && over <= 3, `${over} times`);
    // Another zoom paints all of it; on its map only the frame of what is seen moves.
    const frame = () => page.locator(".minimap-frame").boundingBox();
    const was = await frame();
    await page.keyboard.press("+");
    await settled(page);
    const moved = await page.evaluate(() => window.__painted);
    assert.ok(moved.ground > 0, JSON.stringify(moved));
    assert.equal(moved.map, undefined);
    assert.ok((await frame()).width < was.width);
  });

  onPage("groups ask for the graph again only where it has bundles", async (page, open) => {
    const asked = [];
    page.on("request", (request) => {
      if (/api\/v2\/lineage\?/.test(request.url())) asked.push(new URL(request.url()).searchParams.get("bundle"));
    });
    const groups = page.getByLabel("Groups", { exact: true });
    for (const [address, questions] of [
      ["lineage/dataset:file:~data~clean~flights", ["100"]],
      ["lineage/dataset:grid:fan.hub", ["100", null]],
    ]) {
      await open(address);
      await settled(page);
      asked.splice(0, asked.length, ...asked.slice(-1));
      await groups.selectOption({ label: "By namespace" });
      await page.waitForFunction(() => document.querySelector(".graph")?.textContent.includes("datasets"));
      await settled(page);
      await groups.selectOption({ label: "No groups" });
      await settled(page);
      assert.deepEqual(asked, questions);
    }
  });

  onPage("a node with many readers opens as a card for those that are alike", async (page, open) => {
    await open("lineage/dataset:grid:fan.hub?depth=0");
    await settled(page);
    await page.getByRole("button", { name: "One step more", exact: true }).first().click();
    await page.locator(".card.is-bundle").nth(1).waitFor();
    assert.equal(await page.locator(".graph").getAttribute("data-nodes"), "3");
    await page.getByText("300 nodes that are alike are 2 cards.").waitFor();
    // What a card stands for is found by its name, and listed beside the drawing.
    await page.getByLabel("Find in the graph").fill("reader_77");
    await page.keyboard.press("Enter");
    await page.getByText("1 node of").waitFor();
    await page.locator(".card.is-bundle .card-head").first().click();
    await page.locator(".inspector").getByText("150 members").waitFor();
    await page.getByRole("button", { name: "Open the bundle" }).click();
    await page.waitForFunction(() => document.querySelector(".graph")?.dataset.nodes === "152");
    await page.getByRole("button", { name: "Draw them as one card" }).click();
    await page.waitForFunction(() => document.querySelector(".graph")?.dataset.nodes === "3");
  });
});
