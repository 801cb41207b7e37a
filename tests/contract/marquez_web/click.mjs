// Clicks through every page of the Marquez web UI, as it was released, against a server that should serve its API.
//
//   node tests/contract/marquez_web/click.mjs --ui http://127.0.0.1:3000 --api http://127.0.0.1:5000 [--only NAME] [--json FILE] [--shots FOLDER]
//
// For each page: what was expected and did not come, requests that failed, errors in the console, and (with --json) every request made.
// Leaves with 1 when there is anything of that. It posts its own events first, and tags and deletes some of what they made.
import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { openBrowser } from "../../../web/tests/browser.mjs";
import { JOBS, LAKE, WAREHOUSE, seed } from "./seed.mjs";

const { values: options } = parseArgs({
  options: {
    ui: { type: "string", default: "http://127.0.0.1:3000" },
    api: { type: "string", default: "http://127.0.0.1:5000" },
    only: { type: "string", multiple: true },
    json: { type: "string" },
    shots: { type: "string" },
  },
});
const PATIENCE = 5_000;
const lineage = (type, namespace, name, query = "") =>
  `/lineage/${type}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}${query}`;
const drawerOf = (type, namespace, name) =>
  lineage(type, namespace, name, `?tableLevelNode=${encodeURIComponent(`${type}:${namespace}:${name}`)}`);

/** One page of the UI: its requests and errors, and the expectations it did not meet. */
class Visit {
  constructor(page, name) {
    Object.assign(this, { page, name, requests: [], failed: [], errors: [], missing: [], steps: 0, open: 0 });
    page.on("request", (request) => this.asked(request));
    page.on("requestfinished", (request) => this.answered(request));
    page.on("requestfailed", (request) => this.broken(request));
    page.on("pageerror", (error) => this.errors.push(`uncaught: ${error.message}`));
    page.on("console", (message) => {
      // Chromium repeats every failed request here.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        this.errors.push(message.text());
    });
  }

  told(request) {
    const { pathname, search } = new URL(request.url());
    return `${request.method()} ${pathname}${search}`;
  }

  asked(request) {
    if (!request.url().includes("/api/")) return;
    this.open += 1;
    this.requests.push(this.told(request));
  }

  async answered(request) {
    if (!request.url().includes("/api/")) return;
    const response = await request.response();
    if (response && response.status() >= 400) {
      const body = await response.text().catch(() => "");
      this.failed.push(`${this.told(request)} → ${response.status()} ${body.slice(0, 200)}`);
    }
    this.open -= 1;
  }

  broken(request) {
    if (!request.url().includes("/api/")) return;
    this.open -= 1;
    const reason = request.failure()?.errorText ?? "";
    // Leaving a page ends what it still asked for.
    if (reason !== "net::ERR_ABORTED") this.failed.push(`${this.told(request)} → ${reason}`);
  }

  /** Does something that must come to an end; what did not is kept, and the visit goes on. */
  async step(what, action) {
    this.steps += 1;
    try {
      await action();
      await this.quiet();
    } catch (error) {
      this.missing.push(`${what}: ${error.message.split("\n")[0]}`);
    }
  }

  /** Until nothing has been asked for a fifth of a second. */
  async quiet() {
    for (let alike = 0, left = PATIENCE / 50; alike < 4 && left > 0; left--) {
      await this.page.waitForTimeout(50);
      alike = this.open === 0 ? alike + 1 : 0;
    }
  }

  go(path) {
    return this.step(`open ${path}`, () => this.page.goto(options.ui + path, { waitUntil: "load" }));
  }

  see(what, locator) {
    return this.step(`see ${what}`, () => locator.first().waitFor({ state: "visible" }));
  }

  seeText(text) {
    return this.see(JSON.stringify(text), this.page.getByText(text));
  }

  click(what, locator, extra = {}) {
    return this.step(`click ${what}`, () => locator.first().click(extra));
  }

  /** Does `action`, which must make the UI send a request whose method and decoded path contain `wanted`. */
  sends(wanted, what, action) {
    return this.step(`${what} sends ${wanted}`, async () => {
      const matches = (request) => {
        const told = this.told(request);
        return told.includes(wanted) || decodeURIComponent(told).includes(wanted);
      };
      const [request] = await Promise.all([this.page.waitForRequest(matches), action()]);
      await request.response();
    });
  }
}

const tab = (page, name) => page.getByRole("tab", { name });
const button = (page, name) => page.getByRole("button", { name, exact: true });
const drawn = (page, text) => page.locator("svg text", { hasText: text });
/** The middle of what is drawn with this text: in the graph, not in its small copy in the corner. */
async function placeOf(page, text) {
  let best = null;
  for (const one of await drawn(page, text).all()) {
    const box = await one.boundingBox();
    if (box && (!best || box.width > best.width)) best = box;
  }
  if (!best) throw new Error(`${text} is not drawn`);
  return [best.x + best.width / 2, best.y + best.height / 2];
}
const clickDrawn = async (page, text) => page.mouse.click(...(await placeOf(page, text)));
const rows = (page) => page.locator("tbody tr");
const encodedJobs = `/api/v1/namespaces/${encodeURIComponent(JOBS)}`;

/** Picks the namespace of a list; the UI remembers it. */
async function pickNamespace(visit, name) {
  await visit.click("the list of namespaces", visit.page.locator("#namespace-select"));
  await visit.click(`namespace ${name}`, visit.page.getByRole("option", { name, exact: true }));
}

/** Adds a tag from the list and takes it away again. */
async function tagAndUntag(visit, box, tag, path) {
  const { page } = visit;
  await visit.click("the tags' box", box);
  await visit.sends(`POST ${path}/tags/${tag}`, `choosing ${tag}`, () =>
    page.getByRole("option", { name: tag }).first().click(),
  );
  await visit.step("close the list", () => page.keyboard.press("Escape"));
  await visit.sends(`DELETE ${path}/tags/${tag}`, `removing ${tag}`, () =>
    page.locator(".MuiChip-root", { hasText: tag }).getByTestId("CancelIcon").first().click(),
  );
}

/** The dialog that makes a tag or changes its description. */
async function editTag(visit, tag) {
  const { page } = visit;
  await visit.click("Edit Tag", page.getByText("Edit Tag"));
  await visit.step("name the tag", async () => {
    const name = page.getByPlaceholder("Search for a Tag");
    await name.fill(tag);
    await name.press("Enter");
    await page.locator("#tag-description").fill("Made by a click");
  });
  await visit.sends(`PUT /api/v1/tags/${tag}`, "Submit", () => button(page, "Submit").click());
}

const PAGES = {
  async dashboard(visit) {
    const { page } = visit;
    await visit.go("/");
    await visit.seeText("DataOps");
    await visit.seeText("orders.running");
    await visit.sends("/stats/lineage-events?period=WEEK", "7 Days", () => button(page, "7 Days").click());
    await visit.sends("/stats/lineage-events?period=DAY", "24 Hours", () => button(page, "24 Hours").click());
    for (const [state, job] of [
      ["FAILED", "orders.failing"],
      ["ABORTED", "orders.aborted"],
      ["RUNNING", "orders.running"],
    ]) {
      await visit.sends(`lastRunStates=${state}`, state, () => page.getByLabel(state, { exact: true }).first().click());
      await visit.seeText(job);
      await visit.step(`only ${state} jobs`, async () => {
        if (await page.getByText("orders.clean", { exact: true }).count()) throw new Error("a COMPLETED job is listed");
      });
      await visit.click(`${state} again`, page.getByLabel(state, { exact: true }));
    }
    await visit.sends("/stats/sources", "Refresh", () => page.getByLabel("Refresh").first().click());
    await visit.click("See More", page.getByText("See More"));
    await visit.sends("/jobs?limit=", "the next page", () =>
      page.getByTestId("ChevronRightRoundedIcon").last().click(),
    );
  },

  async jobs(visit) {
    const { page } = visit;
    await visit.go("/");
    await visit.click("Jobs", page.locator("#jobsDrawerButton"));
    await pickNamespace(visit, JOBS);
    await visit.see("30 jobs", page.getByText("30 total"));
    await visit.sends("offset=20", "the next page", () => page.getByTestId("ChevronRightRoundedIcon").click());
    await visit.see("the rest of the jobs", page.getByText("many.job_"));
    await visit.sends("offset=0", "the previous page", () => page.getByTestId("ChevronLeftRoundedIcon").click());
    await visit.sends(`${encodedJobs}/jobs`, "Refresh", () => page.getByLabel("Refresh").first().click());
    await visit.see("a failed run", page.getByText("FAILED"));
    await visit.click("a job", page.getByText("orders.running"));
    await visit.see("its lineage", drawn(page, "orders.running"));
  },

  async "table lineage"(visit) {
    const { page } = visit;
    await visit.go(lineage("dataset", WAREHOUSE, "marts.orders"));
    for (const name of ["marts.orders", "orders.clean", "orders.report", "raw/orders", "public.customer"])
      await visit.see(`node ${name}`, drawn(page, name));
    await visit.see("columns in a node", drawn(page, "order_id"));
    for (const name of ["Zoom in", "Zoom out", "Reset zoom", "Center on selected node"])
      await visit.click(name, page.getByLabel(name));
    await visit.sends("depth=3", "another depth", () => page.locator("#column-level-depth").fill("3"));
    await visit.click("Full Graph", page.getByText("Full Graph"));
    await visit.click("Compact Nodes", page.getByText("Compact Nodes"));
    await visit.click("Compact Nodes again", page.getByText("Compact Nodes"));
    await visit.step("collapse a node", () => page.getByLabel("Collapse").last().dispatchEvent("click"));
    await visit.sends("/api/v1/lineage?", "Refresh", () => page.getByLabel("Refresh").first().click());
    await visit.go(lineage("dataset", WAREHOUSE, "marts.orders"));
    await visit.step("the drawing comes to rest", () => page.waitForTimeout(1500));
    await visit.sends(`${encodedJobs}/jobs/orders.clean`, "a job's node", () => clickDrawn(page, "orders.clean"));
  },

  async "job drawer"(visit) {
    const { page } = visit;
    await visit.go(drawerOf("job", JOBS, "orders.clean"));
    await visit.seeText("Makes what orders.clean makes.");
    await visit.see("the query", page.getByText("insert into", { exact: false }));
    await visit.seeText("JOB FACETS");
    await visit.seeText("RUN FACETS");
    await visit.see("the location", page.getByRole("link", { name: "LOCATION" }));
    await visit.go(drawerOf("job", JOBS, "orders.report"));
    await visit.sends("orders.report/runs?limit=10&offset=0", "RUN HISTORY", () => tab(page, "RUN HISTORY").click());
    await visit.see("12 runs", page.getByText("1 - 10 of 12"));
    await visit.sends("orders.report/runs?limit=10&offset=10", "the next page", () =>
      page.getByTestId("ChevronRightRoundedIcon").last().click(),
    );
    await visit.see("the last 2", page.getByText("11 - 12 of 12"));
    await visit.sends("/facets?type=job", "a run", () => rows(page).first().click());
    await visit.seeText("RUN FACETS");
    await visit.click("back", page.getByTestId("ArrowBackIosRoundedIcon").last());
  },

  async "job tags"(visit) {
    const { page } = visit;
    const path = `${encodedJobs}/jobs/orders.clean`;
    await visit.go(drawerOf("job", JOBS, "orders.clean"));
    await editTag(visit, "CLICKED");
    await tagAndUntag(visit, page.locator("#dataset-tags").first(), "PII", path);
    await visit.click("the tags' box", page.locator("#dataset-tags"));
    await visit.sends(`POST ${path}/tags/SENSITIVE`, "choosing SENSITIVE", () =>
      page.getByRole("option", { name: "SENSITIVE" }).click(),
    );
    await visit.go("/");
    await visit.see("the tag on the dashboard", page.locator(".MuiChip-root", { hasText: "SENSITIVE" }));
  },

  async datasets(visit) {
    const { page } = visit;
    await visit.go("/datasets");
    await pickNamespace(visit, WAREHOUSE);
    await visit.see("27 datasets", page.getByText("27 total"));
    await visit.sends("offset=20", "the next page", () => page.getByTestId("ChevronRightRoundedIcon").click());
    await visit.sends("offset=0", "the previous page", () => page.getByTestId("ChevronLeftRoundedIcon").click());
    await visit.sends("/datasets?limit=20", "Refresh", () => page.getByLabel("Refresh").first().click());
    await visit.sends("offset=20", "the next page again", () => page.getByTestId("ChevronRightRoundedIcon").click());
    await visit.see("its quality", page.getByText("UNHEALTHY"));
    await visit.sends("/api/v1/column-lineage?", "VIEW", () => page.getByText("VIEW", { exact: true }).first().click());
  },

  async "dataset drawer"(visit) {
    const { page } = visit;
    await visit.go(drawerOf("dataset", WAREHOUSE, "marts.orders"));
    await visit.seeText("One row for each order.");
    await visit.see("three columns", page.getByText("3 columns"));
    await visit.seeText("1 PASSING");
    await visit.seeText("1 FAILING");
    await visit.seeText("The order_id of it");
    await visit.seeText("FACETS");
    await visit.go(drawerOf("dataset", WAREHOUSE, "marts.report"));
    await visit.sends("marts.report/versions?limit=10&offset=0", "VERSION HISTORY", () =>
      tab(page, "VERSION HISTORY").click(),
    );
    await visit.see("12 versions", page.getByText("1 - 10 of 12"));
    await visit.sends("versions?limit=10&offset=10", "the next page", () =>
      page.getByTestId("ChevronRightRoundedIcon").last().click(),
    );
    await visit.click("a version", rows(page));
    await visit.seeText("The total of it");
    await visit.click("back", page.getByTestId("ArrowBackIosRoundedIcon").last());
  },

  async "dataset tags"(visit) {
    const { page } = visit;
    const path = `/api/v1/namespaces/${encodeURIComponent(WAREHOUSE)}/datasets/marts.report`;
    await visit.go(drawerOf("dataset", WAREHOUSE, "marts.report"));
    await editTag(visit, "CLICKED_TOO");
    await tagAndUntag(visit, page.locator("#dataset-tags").first(), "PII", path);
    await visit.click("Show Field Tags", page.getByText("Show Field Tags"));
    const field = page.locator("tr", { hasText: "total" });
    await tagAndUntag(visit, field.locator("#dataset-tags"), "SENSITIVE", `${path}/fields/total`);
  },

  async "column lineage"(visit) {
    const { page } = visit;
    await visit.go(`/datasets/column-level/${encodeURIComponent(WAREHOUSE)}/marts.orders`);
    for (const name of ["marts.orders", "raw/orders", "public.customers", "marts.report", "order_id", "total"])
      await visit.see(`node ${name}`, drawn(page, name));
    for (const name of ["Zoom in", "Zoom out", "Reset zoom"]) await visit.click(name, page.getByLabel(name));
    await visit.sends("depth=4&withDownstream=true", "another depth", () =>
      page.locator("#column-level-depth").fill("4"),
    );
    await visit.step("hover over a column", async () => page.mouse.move(...(await placeOf(page, "order_id"))));
    await visit.sends("/datasets/marts.orders", "a dataset's node", () => clickDrawn(page, "marts.orders"));
    await visit.seeText("SCHEMA");
    await visit.seeText("The order_id of it");
  },

  async events(visit) {
    const { page } = visit;
    await visit.go("/events");
    await visit.see("the run that goes on", page.getByText("orders.running"));
    await visit.click("an event", rows(page));
    await visit.see("its JSON", page.getByText("eventTime"));
    await visit.see("its producer", page.getByText("https://headwater.example/"));
    await visit.click("the event again", rows(page));
    await visit.sends("offset=50", "the next page", () => page.getByTestId("ChevronRightRoundedIcon").click());
    await visit.sends("/events/lineage?limit=50", "Refresh", () => page.getByLabel("Refresh").first().click());
    await visit.go("/events?dateFrom=2001-01-01T00:00:00.000Z&dateTo=2001-01-02T00:00:00.000Z");
    await visit.see("that there is none", page.getByText(/no events/i));
  },

  async search(visit) {
    const { page } = visit;
    await visit.go("/");
    await visit.sends("/api/v1/search?q=orders", "typing", () =>
      page.locator("#searchBar").pressSequentially("orders", { delay: 150 }),
    );
    await visit.see("a job that was found", page.locator("#searchContainer a", { hasText: "running" }));
    await visit.sends("filter=JOB", "JOBS", () =>
      page.locator("#searchContainer").getByText("JOBS", { exact: true }).first().click(),
    );
    await visit.sends("filter=DATASET", "DATASETS", () =>
      page.locator("#searchContainer").getByText("DATASETS", { exact: true }).first().click(),
    );
    await visit.sends("sort=NAME", "Name", () =>
      page.locator("#searchContainer").getByText("Name", { exact: true }).click(),
    );
    await visit.sends("/api/v1/lineage?nodeId=dataset", "a result", () =>
      page.locator("#searchContainer a").first().click(),
    );
  },

  async delete(visit) {
    const { page } = visit;
    await visit.go(drawerOf("dataset", LAKE, "gone/table"));
    await visit.click("DELETE", button(page, "DELETE"));
    await visit.sends(`DELETE /api/v1/namespaces/${encodeURIComponent(LAKE)}/datasets/gone%2Ftable`, "Continue", () =>
      button(page, "Continue").click(),
    );
    await visit.go("/datasets");
    await pickNamespace(visit, LAKE);
    await visit.see("what is left", page.getByText("raw/orders"));
    await visit.step("the dataset is gone", async () => {
      if (await page.getByText("gone/table").count()) throw new Error("it is still listed");
    });
    await visit.go(drawerOf("job", JOBS, "gone.job"));
    await visit.click("DELETE", button(page, "DELETE"));
    await visit.sends(`DELETE ${encodedJobs}/jobs/gone.job`, "Continue", () => button(page, "Continue").click());
    await visit.go("/jobs");
    await pickNamespace(visit, JOBS);
    await visit.see("29 jobs", page.getByText("29 total"));
  },
};

async function main() {
  console.log(`${await seed(options.api)} events posted to ${options.api}`);
  const { context, close } = await openBrowser();
  // Fonts come from elsewhere; nothing else may.
  const outside = new Set();
  await context.route(
    (url) => url.origin !== new URL(options.ui).origin,
    (route) => {
      outside.add(new URL(route.request().url()).origin);
      return route.fulfill({ status: 200, contentType: "text/css", body: "" });
    },
  );
  const told = [];
  try {
    for (const [name, through] of Object.entries(PAGES)) {
      if (options.only && !options.only.includes(name)) continue;
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE);
      const visit = new Visit(page, name);
      await through(visit);
      if (options.shots) {
        mkdirSync(options.shots, { recursive: true });
        await page.screenshot({ path: `${options.shots}/${name.replaceAll(" ", "-")}.png` });
      }
      const { requests, failed, errors, missing, steps } = visit;
      await page.close();
      told.push({ page: name, steps, requests, failed, errors, missing });
      const bad = failed.length + errors.length + missing.length;
      console.log(`${bad ? "✗" : "✓"} ${name}: ${steps} steps, ${requests.length} requests`);
      for (const [word, lines] of Object.entries({ missing, failed, console: errors }))
        for (const line of new Set(lines)) console.log(`    ${word}: ${line}`);
    }
  } finally {
    await close();
  }
  if (outside.size) console.log(`left out: ${[...outside].join(", ")}`);
  if (options.json) writeFileSync(options.json, JSON.stringify(told, null, 1) + "\n");
  const bad = told.filter(({ failed, errors, missing }) => failed.length + errors.length + missing.length);
  console.log(`${told.length - bad.length} passed, ${bad.length} failed`);
  process.exitCode = bad.length ? 1 : 0;
}

await main();
