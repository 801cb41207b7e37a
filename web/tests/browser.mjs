// A real Chromium with a fresh profile, and the page in it.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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
