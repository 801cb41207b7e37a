// What a browser loads for the first page, compressed: the entry, what it imports at once, and the start page's own chunk.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET = 250_000;
const STATIC = join(dirname(fileURLToPath(import.meta.url)), "../../src/headwater/api/static");
const files = readdirSync(join(STATIC, "assets"));
const read = (name) => readFileSync(join(STATIC, "assets", name), "utf8");
const html = readFileSync(join(STATIC, "index.html"), "utf8");

const seen = new Set();
const load = (name) => {
  if (!name.endsWith(".js") || seen.has(name)) return;
  seen.add(name);
  for (const [, imported] of read(name).matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) load(imported);
};
for (const [, name] of html.matchAll(/assets\/([\w.-]+\.js)/g)) load(name);
load(files.find((name) => name.startsWith("home-page-")));

const bytes = [...seen].reduce((sum, name) => sum + gzipSync(read(name)).length, 0);
console.log(`first page: ${seen.size} scripts, ${(bytes / 1000).toFixed(1)} kB compressed, budget ${BUDGET / 1000} kB`);
if (seen.size < 3 || bytes > BUDGET) {
  console.error(`The first page's scripts are over ${BUDGET / 1000} kB, or were not found: ${[...seen].join(", ")}`);
  process.exit(1);
}
