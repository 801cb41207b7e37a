// Pictures of the page for the docs, from the server of `make demo`: node tests/pictures.mjs URL FOLDER. scripts/pictures calls it.
import { join } from "node:path";
import { openBrowser, openPage, settled } from "./browser.mjs";

/** Each picture: its file, the size of the window, and the steps that lead to what it shows. */
const PICTURES = [
  {
    file: "page.png",
    size: { width: 1600, height: 720 },
    steps: async (page, url) => {
      const answer = await page.request.get(`${url}api/v2/search?q=report/index.html&limit=1`);
      const [found] = (await answer.json()).results;
      if (!found) throw new Error("the server does not know report/index.html: run make demo first");
      await page.goto(`${url}?${new URLSearchParams({ node: found.id, selected: found.id })}`);
      await settled(page);
    },
  },
];

const [url, folder] = process.argv.slice(2);
const browser = await openBrowser();
try {
  for (const { file, size, steps } of PICTURES) {
    const { page, problems } = await openPage(browser.context);
    await page.setViewportSize(size);
    await steps(page, url.replace(/\/?$/, "/"));
    await page.screenshot({ path: join(folder, file) });
    if (problems.length) throw new Error(`${file}: ${problems.join("; ")}`);
    console.log(file);
    await page.close();
  }
} finally {
  await browser.close();
}
