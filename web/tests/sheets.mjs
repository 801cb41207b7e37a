// Every page in every state, theme and width, twelve to a sheet, to be looked at: npm run sheets -- FOLDER [PART OF A SHEET'S NAME]…
// A sheet is STATE-THEME-WIDTH-N.png: `npm run sheets -- DIR empty dark-390` takes those that are empty, and those that are dark on a phone.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openPage } from "./browser.mjs";
import { PAGES } from "./every-page.mjs";
import { seed } from "./seed.mjs";
import { serve } from "./server.mjs";

const [folder = "sheets", ...wanted] = process.argv.slice(2);
const SIZES = [
  { width: 1440, height: 900, thumb: 480, across: 4 },
  { width: 1280, height: 800, thumb: 480, across: 4 },
  { width: 390, height: 844, thumb: 240, across: 8 },
];
const API = /\/api\/v\d\//;
/** Each state: the server it needs, and how its answers are disturbed. */
const STATES = {
  full: { fill: seed },
  empty: { fill: () => undefined },
  // The database is away: every answer says so.
  trouble: {
    fill: seed,
    answer: (route) =>
      route.fulfill({
        status: 503,
        contentType: "application/json",
        body: JSON.stringify({ code: "unavailable", message: "The database does not answer.", details: {} }),
      }),
  },
  // No answer has arrived yet.
  waiting: { fill: seed, answer: () => undefined },
  // A closed server, asked without a key.
  denied: { fill: () => undefined, settings: { HEADWATER_ACCESS__ADMIN_KEY: "an-admin-key-for-the-pictures" } },
};

const sheets = Object.keys(STATES).flatMap((state) =>
  ["light", "dark"].flatMap((theme) =>
    SIZES.map((size) => ({ state, theme, size, name: `${state}-${theme}-${size.width}` })),
  ),
);
const chosen = sheets.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)));

async function picturePages(page, url, { state, size }) {
  const shots = [];
  for (const path of Object.values(PAGES)) {
    await page.goto(url + path);
    await page
      .waitForFunction(
        // Bones come after a while, and a page that asks nothing has none.
        (isWaiting) =>
          isWaiting
            ? document.querySelector(".waiting > *, .graph-wait")
            : document.querySelector("h1, .message h2") && !document.querySelector(".waiting, .graph-wait"),
        state === "waiting",
        { timeout: state === "waiting" ? 2000 : 6000 },
      )
      .catch(() => undefined);
    await page.waitForTimeout(250);
    shots.push((await page.screenshot({ type: "jpeg", quality: 70 })).toString("base64"));
  }
  await page.unrouteAll();
  await page.setViewportSize({ width: size.across * (size.thumb + 6), height: 1000 });
  return shots;
}

mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
try {
  for (const state of new Set(chosen.map((one) => one.state))) {
    const { fill, settings, answer } = STATES[state];
    const server = await serve(fill, settings);
    try {
      for (const sheet of chosen.filter((one) => one.state === state)) {
        const { page } = await openPage(browser.context);
        await page.setViewportSize({ width: sheet.size.width, height: sheet.size.height });
        await page.addInitScript((theme) => localStorage.setItem("headwater.theme", theme), sheet.theme);
        if (answer) await page.route(API, answer);
        const shots = await picturePages(page, server.url, sheet);
        for (let from = 0; from < shots.length; from += 12) {
          const images = shots
            .slice(from, from + 12)
            .map((shot) => `<img width=${sheet.size.thumb} src="data:image/jpeg;base64,${shot}">`);
          await page.setContent(
            `<body style="margin:0;background:#888;display:flex;flex-wrap:wrap;align-items:flex-start;align-content:flex-start;gap:4px">${images.join("")}`,
          );
          const file = `${sheet.name}-${from / 12 + 1}.png`;
          await page.screenshot({ path: join(folder, file), fullPage: true });
          console.log(file);
        }
        await page.close();
      }
    } finally {
      server.close();
    }
  }
} finally {
  await browser.close();
}
