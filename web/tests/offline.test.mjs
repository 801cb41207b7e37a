// The page that `headwater sql --html` writes, opened as a file: it draws, finds and traces, runs nothing of what names say, and asks nothing of anyone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { openBrowser } from "./browser.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const HOSTILE = `</script><script>document.title="owned"</script><img src=x onerror="document.title='owned'">`;
let folder, browser;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "headwater-offline-"));
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Write the page of these files and open it. */
async function opened(name, files) {
  const project = join(folder, name);
  mkdirSync(project);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(project, file), text);
  const out = join(folder, `${name}.html`);
  execFileSync(join(ROOT, ".venv/bin/headwater"), ["sql", project, "-d", "postgres", "--html", out]);
  const page = await browser.context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  page.on("request", (request) => {
    if (!/^(file|blob|data):/.test(request.url())) troubles.push(`asked for ${request.url()}`);
  });
  await page.goto(pathToFileURL(out).href);
  await page.locator(".card").first().waitFor();
  return { page, troubles };
}

test("it draws, finds a column and traces it", async () => {
  const { page, troubles } = await opened("shop", {
    "1.sql": "create table mart.totals as select email, sum(amount) as total from stg.orders group by email",
    "2.sql": "create table stg.orders as select lower(email) as email, amount, day from raw.orders",
  });
  assert.equal(await page.locator(".card").count(), 3);
  await page.getByPlaceholder("Table or column").fill("email");
  await page.getByRole("button", { name: "raw.orders · email" }).click();
  await page.getByPlaceholder("Table or column").fill("");
  await page.getByRole("button", { name: "Stop tracing email" }).waitFor();
  assert.equal(await page.locator(".graph.is-tracing").count(), 1);
  assert.match(await page.locator(".legend").innerText(), /column/);
  assert.doesNotMatch(await page.locator(".legend").innerText(), /failed/);
  await page.getByLabel("dark").check();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  assert.deepEqual(troubles, []);
  await page.close();
});

test("names that are markup stay names", async () => {
  const { page, troubles } = await opened("hostile", {
    "1.sql": `create table "${HOSTILE.replaceAll('"', '""')}" as select 1 as "a</script><b>", '\u2028' as c from t`,
  });
  await page.getByPlaceholder("Table or column").fill("</script>");
  assert.ok((await page.locator(".hits button").count()) >= 1);
  assert.notEqual(await page.title(), "owned");
  assert.equal(await page.locator("img[src=x]").count(), 0);
  assert.deepEqual(troubles, []);
  await page.close();
});

test("fields of structs are traced, and hostile fields, files and folders stay names", async () => {
  const { page, troubles } = await opened("<img src=x onerror=alert(1)>", {
    "1.sql": `create table mart.people as select jsonb_build_object('<img src=x onerror=alert(1)>', name, 'town', city) as who from raw.people`,
    "2<b>&lt;.sql": "create table mart.towns as select who -> 'town' as town from mart.people",
  });
  await page.getByPlaceholder("Table or column").fill("who.town");
  await page.getByRole("button", { name: "mart.people · who.town" }).click();
  await page.getByPlaceholder("Table or column").fill("");
  await page.getByRole("button", { name: "Stop tracing who.town" }).waitFor();
  assert.match(await page.locator("h1").innerText(), /<img src=x/);
  assert.equal(await page.locator("img[src=x]").count(), 0);
  assert.deepEqual(troubles, []);
  await page.close();
});

test("a project of 400 tables is laid out in its worker", async () => {
  const text = Array.from(
    { length: 400 },
    (_, at) => `create table s.t${at + 1} as select a, b + 1 as b from s.t${Math.floor(at / 2)};`,
  );
  const { page, troubles } = await opened("large", { "all.sql": text.join("\n") });
  await page.getByPlaceholder("Table or column").fill("t400");
  await page.getByRole("button", { name: "s.t400", exact: true }).click();
  assert.deepEqual(troubles, []);
  await page.close();
});
