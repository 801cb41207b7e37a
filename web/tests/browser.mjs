// A real Chromium with a fresh profile, and the page in it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function openBrowser() {
  const script = join(dirname(fileURLToPath(import.meta.url)), "../../scripts/chromium");
  const executablePath = execFileSync(script, { encoding: "utf8" }).trim();
  const profile = mkdtempSync(join(tmpdir(), "headwater-chromium-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: FLAGS,
    viewport: { width: 1400, height: 900 },
    colorScheme: "light",
    // Moves at once: what is tested is where the view ends, not how it glides there.
    reducedMotion: "reduce",
  });
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { context, close };
}

/** A new tab that remembers every error the page made. */
export async function openPage(context) {
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const problems = [];
  page.on("pageerror", (error) => problems.push(`uncaught: ${error.message}`));
  page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
  return { page, problems };
}

/** Waits until the drawing has been laid out and has stopped moving. */
export async function settled(page) {
  await page.waitForSelector(".graph[data-world]");
  let before = "";
  for (let alike = 0; ;) {
    const now = await page.locator(".graph").getAttribute("data-view");
    alike = now && now === before ? alike + 1 : 0;
    if (alike === 2) return now;
    before = now;
    await page.waitForTimeout(80);
  }
}

/** A name as one segment of a path of the page (src/path-names.ts). */
export const seg = (name) =>
  encodeURIComponent(
    name.replace(/[!~%\\?#]/g, (sign) => `!${sign.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll("/", "~"),
  );

/** Tests whose steps run in a new tab; whatever they do, the page must not have made an error. */
export function pageTests(running) {
  return (name, steps, { expected = [] } = {}) =>
    test(name, async () => {
      const { browser, server } = running();
      const { page, problems } = await openPage(browser.context);
      // The choice of colours of the test before is not this one's.
      await page.addInitScript(() => localStorage.removeItem("headwater.theme"));
      try {
        await steps(page, (path) => page.goto(server.url + path));
        assert.deepEqual(
          problems.filter((problem) => !expected.some((one) => problem.includes(one))),
          [],
        );
      } finally {
        await page.close();
      }
    });
}
