// The page's speed in a real Chromium without a GPU, against a real server: node benchmarks/page.mjs (after scripts/build-web).
// Main-thread time is Chromium's own (TaskDuration). A frame's time is the time between two frames while the pointer drags.
import { openBrowser, openPage, settled } from "../web/tests/browser.mjs";
import { fan, grid, run, send, table } from "../web/tests/seed.mjs";
import { serve } from "../web/tests/server.mjs";

// `node benchmarks/page.mjs g10 g500` measures two of its graphs alone; `fan` and `catalogue` are the other parts. `g50000`, which takes
// minutes to fill, is measured when it is named: a question goes 100 steps at most, so its rows are wide.
const parts = process.argv.slice(2);
const isAsked = (part) => parts.length === 0 || parts.includes(part);
// The smallest is the floor: what an action costs without a graph to draw.
const graphs = Object.entries({
  g10: 10,
  g100: 100,
  g500: 500,
  g5000: 5000,
  g10000: 10_000,
  // A fifth of them is out of reach of the first.
  g50000: 62_000,
}).filter(([name]) =>
  name === "g50000" ? parts.includes(name) : isAsked(name),
);

const server = await serve(async (url) => {
  for (const [name, size] of graphs)
    await send(url, grid(size, name, size > 10_000 ? 600 : undefined));
  await send(url, fan(2000));
});
const browser = await openBrowser();
const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
const p95 = (all) => all.sort((a, b) => a - b)[Math.floor(all.length * 0.95)];
const ms = (n) => `${Math.round(n)} ms`;

/**
 * From a click to the frame in which an element of this selector (whose text begins so) is there, in ms by the page's own
 * clock: neither the way to the click nor the search for what has appeared is counted.
 */
async function fromClick(page, locator, selector, text = "") {
  await page.evaluate(
    ([selector, text]) => {
      window.__took = new Promise((resolve) => {
        const onClick = () => {
          const began = performance.now();
          const look = () => {
            if (!document.querySelector(selector)?.textContent.startsWith(text))
              return requestAnimationFrame(look);
            // A message is answered after the frame.
            const channel = new MessageChannel();
            channel.port1.onmessage = () => resolve(performance.now() - began);
            channel.port2.postMessage(null);
          };
          requestAnimationFrame(look);
        };
        addEventListener("click", onClick, { capture: true, once: true });
      });
    },
    [selector, text],
  );
  await locator.click();
  return page.evaluate(() => window.__took);
}

/**
 * One action each, in an order in which each finds what it needs. Elements are found without Playwright's search by role, whose work
 * would be counted as the page's.
 */
function actionsOn(page) {
  const tap = (selector, text) => () =>
    page.evaluate(
      ([selector, text]) => {
        const found = [...document.querySelectorAll(selector)].find(
          (one) => !text || one.textContent.trim() === text,
        );
        found.click();
      },
      [selector, text],
    );
  const key = (name) => async () => {
    await page.evaluate(() => document.querySelector(".graph").focus());
    await page.keyboard.press(name);
  };
  // As the browser does it when an option of the list that it draws itself is taken.
  const choose = (name, option) => () =>
    page.evaluate(
      ([name, option]) => {
        const list = document.querySelector(`select[aria-label="${name}"]`);
        const value = [...list.options].find(
          (one) => one.text === option,
        ).value;
        Object.getOwnPropertyDescriptor(
          HTMLSelectElement.prototype,
          "value",
        ).set.call(list, value);
        list.dispatchEvent(new Event("change", { bubbles: true }));
      },
      [name, option],
    );
  return {
    nothing: async () => {},
    "a step": key("ArrowRight"),
    "its details": key("Enter"),
    "details away": () => page.keyboard.press("Escape"),
    "all in view": key("f"),
    zoom: key("+"),
    "a lens": choose("Lens", "Last run"),
    "no lens": choose("Lens", "No lens"),
    groups: choose("Groups", "By namespace"),
    "no groups": choose("Groups", "No groups"),
    columns: tap('[role="switch"]'),
    "no columns": tap('[role="switch"]'),
    "as a table": key("t"),
    "as a graph": () => page.keyboard.press("t"),
  };
}

/** The question alone, asked by the page and read as JSON: what any page would have to wait for. */
const askAlone = (page, address) =>
  page.evaluate(async (address) => {
    const began = performance.now();
    await (await fetch(new URL(address, document.baseURI))).json();
    return performance.now() - began;
  }, address);

async function measureGraphs() {
  for (const [name] of graphs) {
    const { page } = await openPage(browser.context);
    page.setDefaultTimeout(120_000);
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable");
    const busy = async () =>
      (await session.send("Performance.getMetrics")).metrics.find(
        (one) => one.name === "TaskDuration",
      ).value * 1000;
    await page.goto(
      `${server.url}lineage/dataset:grid:${name}.d0_0?depth=100&nodes=100000`,
    );
    await page.waitForSelector(".graph[data-world]");
    const drawn = await page.evaluate(() => performance.now());
    const layout = await page.evaluate(
      () =>
        performance.getEntriesByName("headwater:layout").at(-1)?.duration ?? 0,
    );
    await settled(page);
    const nodes = await page.locator(".graph").getAttribute("data-nodes");
    await page.keyboard.press("f");
    await settled(page);
    const box = await page.locator(".graph").boundingBox();
    const middle = [box.x + box.width / 2, box.y + box.height / 2];
    await page.evaluate(() => {
      window.__frames = [];
      let last = performance.now();
      const tick = (now) => {
        window.__frames.push(now - last);
        last = now;
        window.__ticking = requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    });
    const before = await busy();
    await page.mouse.move(...middle);
    await page.mouse.down();
    for (let i = 1; i <= 60; i++)
      await page.mouse.move(middle[0] - i * 4, middle[1] + i);
    await page.mouse.up();
    const panned = ((await busy()) - before) / 60;
    const frames = await page.evaluate(() => {
      cancelAnimationFrame(window.__ticking);
      return window.__frames.slice(1);
    });
    const took = {};
    for (let i = 0; i < 5; i++)
      for (const [what, act] of Object.entries(actionsOn(page))) {
        const start = await busy();
        await act();
        await page.waitForTimeout(700);
        (took[what] ??= []).push((await busy()) - start);
      }
    console.log(
      `${name}: ${nodes} nodes · drawn after ${ms(drawn)} · layout with its worker ${ms(layout)} · pan, all in view: main thread ${panned.toFixed(1)} ms a move, frame p95 ${ms(p95(frames))}\n  main thread of one action: ${Object.entries(
        took,
      )
        .map(([what, all]) => `${what} ${ms(median(all))}`)
        .join(" · ")}`,
    );
    await page.close();
  }
}

/** A node with 2,000 readers is opened. */
async function measureFan() {
  const { page } = await openPage(browser.context);
  page.setDefaultTimeout(60_000);
  await page.goto(`${server.url}lineage/dataset:grid:fan.hub?depth=0`);
  await settled(page);
  const opened = [];
  for (let i = 0; i < 5; i++) {
    const floor = await askAlone(
      page,
      "api/v2/lineage?node=dataset:grid:fan.hub&depth=1&max_nodes=2000&bundle=100",
    );
    await page.goto(`${server.url}lineage/dataset:grid:fan.hub?depth=0`);
    await settled(page);
    const more = page
      .getByRole("button", { name: "One step more", exact: true })
      .first();
    const took = await fromClick(page, more, ".card.is-bundle");
    opened.push([took, floor]);
  }
  const [tooks, floorsOfFan] = [0, 1].map((k) =>
    ms(median(opened.map((one) => one[k]))),
  );
  console.log(
    `opening a node with 2,000 readers: ${tooks}; the question alone ${floorsOfFan} (medians of 5)`,
  );
}

/** A page of 100 rows out of 100,000 datasets: the page is loaded, its first answer is not. */
async function measureCatalogue() {
  const many = Array.from(
    { length: 250 },
    (_, i) =>
      run(`many.${i}`, Date.now() - 60_000, {
        outputs: Array.from({ length: 400 }, (_, j) =>
          table(`many.t${i}_${j}`, ["a"], {}, "many"),
        ),
        namespace: "many",
      }).events[1],
  );
  for (let i = 0; i < many.length; i += 25)
    await send(server.url, many.slice(i, i + 25));
  const { page: list } = await openPage(browser.context);
  list.setDefaultTimeout(60_000);
  const took = [];
  for (let i = 0; i < 5; i++) {
    // From a page whose own questions are answered, and none of which counts 100,000 datasets.
    await list.goto(`${server.url}settings/keys`);
    await list.getByRole("heading", { name: "Keys" }).first().waitFor();
    await list.waitForTimeout(1500);
    const link = list
      .getByRole("navigation", { name: "Main" })
      .getByRole("link", { name: "Catalogue" });
    const first = await fromClick(
      list,
      link,
      "table.table tbody tr:nth-child(100)",
    );
    // The counts of all tags and owners are asked after the rows, and are not waited for by a reader.
    await list.waitForTimeout(1500);
    const second = await fromClick(
      list,
      list.getByRole("button", { name: "Next" }),
      ".table-count",
      "101–",
    );
    await list.waitForTimeout(1500);
    const floor = await askAlone(list, "api/v2/datasets?limit=100&offset=200");
    took.push([first, second, floor]);
  }
  const [firsts, seconds, floors] = [0, 1, 2].map((k) =>
    ms(median(took.map((one) => one[k]))),
  );
  console.log(
    `100,000 datasets: the first 100 rows after ${firsts}, the next 100 after ${seconds}; the question alone ${floors} (medians of 5)`,
  );
}

try {
  await measureGraphs();
  if (isAsked("fan")) await measureFan();
  if (isAsked("catalogue")) await measureCatalogue();
} finally {
  await browser.close();
  server.close();
}
