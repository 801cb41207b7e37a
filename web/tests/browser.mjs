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

export const node = (page, id) => page.locator(`[data-card=${JSON.stringify(id)}]`);
export const at = (base, query) => `${base}?${new URLSearchParams(query)}`;

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

/** The view moves in one frame, the cards follow in the next. */
const frames = (page, n) =>
  page.evaluate(async (left) => {
    for (; left > 0; left--) await new Promise((done) => requestAnimationFrame(done));
  }, n);

/** Every card of the drawing with its place in the world, found by moving the view over all of it. */
export async function sweep(page) {
  const graph = page.locator(".graph");
  const [width, height] = (await graph.getAttribute("data-world")).split(" ").map(Number);
  const box = await graph.boundingBox();
  const cards = new Map();
  const collect = async () => {
    const found = await page.$$eval("[data-card]", (elements) =>
      elements.map((element) => {
        const { m41, m42 } = new DOMMatrix(element.style.transform);
        return [
          element.dataset.card,
          { x: m41, y: m42, w: parseFloat(element.style.width), h: parseFloat(element.style.height) },
        ];
      }),
    );
    for (const [id, place] of found) cards.set(id, place);
  };
  const map = page.locator(".minimap");
  if ((await map.count()) === 0) {
    await collect();
    return cards;
  }
  // Out to the smallest zoom that still has cards, then along the map in the corner.
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let i = 0; i < 30; i++) {
    const zoom = Number((await graph.getAttribute("data-view")).split(" ")[2]);
    if (zoom < 0.5) break;
    await page.mouse.wheel(0, 40);
    await frames(page, 3);
  }
  const zoom = Number((await settled(page)).split(" ")[2]);
  const frame = await map.boundingBox();
  const k = Math.min((frame.width - 14) / width, (frame.height - 14) / height);
  const left = frame.x + (frame.width - width * k) / 2;
  const top = frame.y + (frame.height - height * k) / 2;
  const stepX = (box.width / zoom) * 0.9;
  const stepY = (box.height / zoom) * 0.9;
  for (let y = stepY / 2; y - stepY / 2 < height; y += stepY)
    for (let x = stepX / 2; x - stepX / 2 < width; x += stepX) {
      await page.mouse.click(left + Math.min(x, width) * k, top + Math.min(y, height) * k);
      await frames(page, 4);
      await collect();
    }
  return cards;
}

export function overlapping(cards) {
  const all = [...cards];
  const found = [];
  all.forEach(([a, p], i) => {
    for (const [b, q] of all.slice(0, i))
      if (p.x < q.x + q.w && q.x < p.x + p.w && p.y < q.y + q.h && q.y < p.y + p.h) found.push([a, b]);
  });
  return found;
}

/** Time between frames while the pointer drags the drawing; printed, not judged. */
export async function panning(page) {
  const box = await page.locator(".graph").boundingBox();
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
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.55);
  await page.mouse.down();
  for (let i = 0; i < 60; i++)
    await page.mouse.move(box.x + box.width * 0.7 - i * 9, box.y + box.height * 0.55 + i * 2);
  await page.mouse.up();
  const frames = await page.evaluate(() => {
    cancelAnimationFrame(window.__ticking);
    return window.__frames.slice(1);
  });
  frames.sort((a, b) => a - b);
  const mean = frames.reduce((sum, f) => sum + f, 0) / frames.length;
  return `${frames.length} frames, mean ${mean.toFixed(1)} ms, p95 ${frames[Math.floor(frames.length * 0.95)].toFixed(1)} ms`;
}
