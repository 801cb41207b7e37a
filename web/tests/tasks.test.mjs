// Five tasks that people come with, each done twice: with at most four clicks, and with the keyboard alone.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests } from "./browser.mjs";
import { serve } from "./server.mjs";

const MOST_CLICKS = 4;
const FAILED_RUN = "runs/01990000-0000-7000-8000-000000000043";

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

/** With the mouse: each press of it counts, dragging as one. */
function mouse(page) {
  let clicks = 0;
  return {
    clicks: () => clicks,
    async use(target) {
      clicks += 1;
      await target.click();
    },
    async drag(from, to) {
      clicks += 1;
      await from.hover();
      await page.mouse.down();
      await to.hover();
      await page.mouse.up();
    },
    type: (target, text) => target.fill(text),
  };
}

/** With the keyboard alone: Tab until it is there, then Enter; arrows where a grid has them. */
function keyboard(page) {
  const focus = async (target) => {
    await target.waitFor();
    for (let step = 0; step < 400; step++) {
      if (
        await target.evaluate(
          (element) => element === document.activeElement || element.contains(document.activeElement),
        )
      )
        return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`no Tab leads to ${target}`);
  };
  /** Over the squares of a calendar, of which one alone is a stop of Tab. */
  const walk = async (target) => {
    await target.waitFor();
    await focus(page.locator(".calendar"));
    const name = await target.getAttribute("data-instance");
    for (let step = 0; step < 1000; step++) {
      const now = await page.evaluate(() => document.activeElement.dataset.instance);
      if (now === name) return;
      if (now === undefined) await page.keyboard.press("Tab");
      else {
        const down = now.slice(0, 10) < name.slice(0, 10);
        await page.keyboard.press(down ? "ArrowDown" : now < name ? "ArrowRight" : "ArrowLeft");
      }
    }
    throw new Error(`no arrow leads to ${name}`);
  };
  return {
    clicks: () => 0,
    async use(target) {
      await focus(target);
      await page.keyboard.press("Enter");
    },
    async drag(from, to) {
      await walk(from);
      await page.keyboard.press("Enter");
      await walk(to);
      await page.keyboard.press("Enter");
    },
    async type(target, text) {
      await focus(target);
      await page.keyboard.type(text);
    },
  };
}

async function openSearch(page, hand) {
  const button = page.getByRole("button", { name: /Search datasets/ });
  await button.waitFor();
  if (hand.isKeyboard) await page.keyboard.press("/");
  else await hand.use(button);
}

const TASKS = {
  "find a table by half of its name": async (page, open, hand) => {
    await open("");
    await openSearch(page, hand);
    await hand.type(page.getByRole("combobox"), "enriched/fli");
    const hit = page.getByRole("option", { name: /enriched\/flights/ }).first();
    await hit.waitFor();
    if (hand.isKeyboard) await page.keyboard.press("Enter");
    else await hand.use(hit);
    await page.getByRole("heading", { name: "enriched/flights", level: 1 }).waitFor();
  },
  "from a failed run to its first bad input": async (page, open, hand) => {
    await open(FAILED_RUN);
    await hand.use(page.getByRole("table", { name: "Read" }).getByRole("link", { name: "doubted" }));
    await page.getByRole("heading", { name: "orders", level: 1 }).waitFor();
    await page.getByText("From the cause to what it hits").waitFor();
  },
  "who is hit by a column": async (page, open, hand) => {
    await open("");
    await openSearch(page, hand);
    await hand.type(page.getByRole("combobox"), "session");
    const hit = page.getByRole("option", { name: /clicks.*session|session.*clicks/ }).first();
    await hit.waitFor();
    if (hand.isKeyboard) {
      const wanted = await hit.getAttribute("id");
      for (let step = 0; step < 60; step++) {
        if ((await page.getByRole("combobox").getAttribute("aria-activedescendant")) === wanted) break;
        await page.keyboard.press("ArrowDown");
      }
      await page.keyboard.press("Enter");
    } else await hand.use(hit);
    await hand.use(page.locator(".head-actions").getByRole("link", { name: "What if" }));
    await page.getByRole("heading", { name: "Whom to warn" }).waitFor();
    await page.getByRole("table", { name: "Whom to warn" }).getByText("breaks").first().waitFor();
  },
  "mark three hours wrong and see the plan": async (page, open, hand) => {
    await open("schedules/weather?at=2013-03");
    const part = (hour) => page.locator(`[data-instance="2013-03-12T${hour}-04:00"]`);
    await part("04").waitFor();
    await hand.drag(part("04"), part("06"));
    await hand.use(page.getByRole("button", { name: "Who is hit" }));
    await page.getByRole("table", { name: "Who is hit" }).waitFor();
    await hand.type(page.getByLabel("Why it is wrong"), "a sensor froze");
    await hand.use(page.getByRole("button", { name: "Mark wrong" }));
    await page.getByRole("heading", { name: "a sensor froze" }).waitFor();
    await hand.use(page.getByRole("button", { name: "Plan the repair" }));
    await page.getByRole("button", { name: "Make this plan" }).waitFor();
    // As it was, for the next hand.
    await page.getByRole("button", { name: /Retract/ }).click();
    await page.locator(".page-title .state", { hasText: "retracted" }).waitFor();
  },
  "what changed since yesterday": async (page, open, hand) => {
    await open("");
    await page.getByRole("list", { name: "What changed since yesterday" }).waitFor();
    await hand.use(page.getByRole("link", { name: "What changed" }));
    await page.getByRole("table", { name: "Datasets and jobs that changed" }).getByText("appeared").first().waitFor();
  },
};

describe("five tasks", () => {
  for (const [task, steps] of Object.entries(TASKS)) {
    onPage(
      `${task}, with the mouse`,
      async (page, open) => {
        const hand = mouse(page);
        await steps(page, open, hand);
        assert.ok(hand.clicks() <= MOST_CLICKS, `${hand.clicks()} clicks`);
      },
      { expected: ["404"] },
    );
    onPage(`${task}, with the keyboard`, (page, open) => steps(page, open, { ...keyboard(page), isKeyboard: true }), {
      expected: ["404"],
    });
  }
});
