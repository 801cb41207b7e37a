// Pictures of the page for the docs, from the server of `make demo`: node tests/pictures.mjs URL FOLDER. scripts/pictures calls it.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openBrowser, openPage, settled } from "./browser.mjs";
import { lineage } from "./every-page.mjs";

/** Each picture: its file, the size of the window, and the steps that lead to what it shows. */
const PICTURES = [
  {
    file: "page.png",
    size: { width: 1600, height: 720 },
    steps: async (page, url) => {
      const flights = await cleanFlights(page, url);
      await page.goto(`${url}${lineage(flights, `?selected=${encodeURIComponent(flights)}&depth=1&columns=true`)}`);
      await settled(page);
    },
  },
  {
    file: "validity.png",
    size: { width: 1440, height: 620 },
    steps: async (page, url) => {
      await page.goto(`${url}${lineage(await cleanFlights(page, url), "?depth=3&lens=validity&type=dataset")}`);
      await settled(page);
    },
  },
  {
    file: "calendar.png",
    size: { width: 1440, height: 720 },
    steps: async (page, url) => {
      await page.goto(`${url}schedules/weather?at=2013-03&theme=dark`);
      await page.locator(".calendar").waitFor();
    },
  },
];

async function cleanFlights(page, url) {
  const answer = await page.request.get(`${url}api/v2/datasets?limit=1000`);
  const flights = (await answer.json()).datasets.find(({ name }) => name.endsWith("/clean/flights"));
  if (!flights) throw new Error("the server does not know clean/flights: run make demo first");
  return flights.id;
}

/** The folder of the machine that takes the pictures is left out: `/data` stands for it. */
const DATA = join(dirname(fileURLToPath(import.meta.url)), "../../.demo/data");

function hidePath(data) {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(data, "/data");
}

const [url, folder] = process.argv.slice(2);
const browser = await openBrowser();
try {
  for (const { file, size, steps } of PICTURES) {
    const { page, problems } = await openPage(browser.context);
    await page.setViewportSize(size);
    await steps(page, url.replace(/\/?$/, "/"));
    await page.waitForFunction(() => !document.querySelector(".waiting"));
    await page.evaluate(hidePath, DATA);
    await page.screenshot({ path: join(folder, file) });
    if (problems.length) throw new Error(`${file}: ${problems.join("; ")}`);
    console.log(file);
    await page.close();
  }
} finally {
  await browser.close();
}
