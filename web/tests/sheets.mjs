// Every page in both themes, wide and on a phone, twelve to a sheet, to be looked at: npm run sheets -- FOLDER [URL]. Without an address, a
// server of its own is filled and ended.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { openBrowser, openPage } from "./browser.mjs";
import { serve } from "./server.mjs";

const [folder = "sheets", address] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const server = address ? { url: address.replace(/\/?$/, "/"), close: () => undefined } : await serve();
const { url } = server;
const FLIGHTS = "datasets/file:~data~clean~flights";
const ORDERS = "datasets/postgres:~~shop:5432:shop.public.orders";
/** What is on each sheet, in this order. */
const pages = [
  "",
  "catalogue/datasets",
  "catalogue/jobs",
  "catalogue/teams",
  FLIGHTS,
  FLIGHTS + "/schema",
  ORDERS + "/incidents",
  "datasets/snowflake:~~acme-eu:db.sales/usage",
  FLIGHTS + "/completeness",
  "jobs/shop:load-orders",
  "jobs/shop:load-orders/durations",
  "runs/01990000-0000-7000-8000-000000000043",
  "schedules/weather?at=2013-03",
  "incidents",
  "incidents/job:web:import-clicks",
  "incidents/dataset:postgres:~~shop:5432:shop.public.orders",
  "groups/product/funnel",
  "lineage/job:web:sessionize?depth=9&lens=incidents",
  "changes",
  "usage",
  "usage/cost",
  "usage/pruning",
  "usage/quality",
  "whatif?of=dataset:postgres:%2F%2Fsite:5432:site.public.clicks.session",
  "whatif",
  "privacy",
  "catalogue/dashboards",
  "events",
  "events/dead-letters",
  "settings",
  "settings/server",
  "lineage/dataset:file:~data~clean~flights?depth=9&lens=freshness",
  "lineage/dataset:file:~data~clean~flights?depth=2&columns=true",
  "columns/file:~data~clean~flights/dep_delay",
  "datasets/snowflake:~~acme-eu:db.lines/log",
  "jobs/shop:nightly/order",
  `review#${deflateRawSync(readFileSync(new URL("data/review.json", import.meta.url))).toString("base64url")}`,
];
const b = await openBrowser();
for (const [name, w, h, theme, cols, tw] of [
  ["wide", 1440, 900, "light", 4, 480],
  ["dark", 1280, 800, "dark", 4, 480],
  ["phone", 390, 844, "light", 8, 240],
  ["phone-dark", 390, 844, "dark", 8, 240],
]) {
  const shots = [];
  const { page } = await openPage(b.context);
  await page.setViewportSize({ width: w, height: h });
  await page.addInitScript((t) => localStorage.setItem("headwater.theme", t), theme);
  for (const path of pages) {
    await page.goto(url + path);
    await page
      .waitForFunction(
        () => document.querySelector("h1, .message h2") && !document.querySelector(".waiting, .graph-wait"),
        null,
        { timeout: 6000 },
      )
      .catch(() => {});
    await page.waitForTimeout(250);
    shots.push((await page.screenshot({ type: "jpeg", quality: 70 })).toString("base64"));
  }
  await page.setViewportSize({ width: cols * (tw + 6), height: 1000 });
  for (let from = 0; from < shots.length; from += 12) {
    const some = shots.slice(from, from + 12);
    await page.setContent(
      `<body style="margin:0;background:#888;display:flex;flex-wrap:wrap;align-items:flex-start;align-content:flex-start;gap:4px">${some.map((s) => `<img width=${tw} src="data:image/jpeg;base64,${s}">`).join("")}`,
    );
    await page.screenshot({ path: join(folder, `${name}-${from / 12 + 1}.png`), fullPage: true });
  }
  await page.close();
}
await b.close();
server.close();
