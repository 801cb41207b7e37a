// The page in a real Chromium against the real server, which seed.mjs fills. One server for all; tests run in order.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe } from "node:test";
import { openBrowser, pageTests, settled } from "./browser.mjs";
import { bare, CLEAN, dataset, lineage, PAGES } from "./every-page.mjs";
import { HOSTILE, seed } from "./seed.mjs";
import { serve } from "./server.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
let server;

before(async () => {
  browser = await openBrowser();
  server = await serve(() => undefined);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

const onPage = pageTests(() => ({ browser, server }));
const cards = (page) =>
  page.$$eval("[data-card]", (all) => all.map((one) => one.querySelector(".card-label").textContent));
const search = (page) => Object.fromEntries(new URL(page.url()).searchParams);

describe("an empty installation", () => {
  onPage("shows three ways to the first event, and the events as they come", async (page, open) => {
    await open("");
    await page.getByText("Run a package").waitFor();
    assert.equal(await page.locator(".ways li").count(), 3);
    await open("catalogue/datasets");
    await page.getByText("No dataset is known yet").waitFor();
    // No advice to choose something else where there is nothing.
    await open("catalogue/jobs");
    await page.getByText("No job is known yet").waitFor();
    await open("catalogue/jobs?q=orders");
    await page.getByText("No job is like this").waitFor();
    await open("catalogue/runs");
    await page.getByText("No run is known yet").waitFor();
    await open("catalogue/runs?state=FAILED");
    await page.getByText("No run is failed").waitFor();
    await seed(server.url);
    await open("");
    await page.getByRole("list", { name: "Datasets updated lately" }).waitFor();
  });
});

/** The pages that the suite asks about accessibility: one of each kind. `make soak` asks about all; the suite opens all. */
const KINDS = new Set([
  ...[
    "home",
    "datasets",
    "lineage",
    "lineage table",
    "dataset",
    "versions",
    "column",
    "job",
    "schedule",
    "incidents",
    "an incident",
  ],
  ...[
    "why",
    "log and blame",
    "order",
    "review",
    "what if",
    "privacy",
    "plans",
    "usage",
    "trace",
    "events",
    "settings",
    "a failed run",
    "an edge",
    "a team",
  ],
]);
const isAsked = (name) => process.env.SUITE_SCALE === "full" || KINDS.has(name);

/** Nothing of the page is on its way any more. */
const arrived = (page) =>
  page.waitForFunction(
    () => document.querySelector("h1, .message h2") && !document.querySelector(".waiting, .graph-wait"),
  );

/** What of the page's content looks the same with the keyboard's focus as without, of the first fifty that can have it. */
const UNMARKED = () => {
  const marks = (element) => {
    const { outlineStyle, outlineWidth, boxShadow, borderColor, backgroundColor } = getComputedStyle(element);
    return [outlineStyle === "none" ? 0 : outlineWidth, boxShadow, borderColor, backgroundColor].join();
  };
  const able = [
    ...document.querySelectorAll("#content :is(a[href], button, input, select, textarea, summary, [tabindex='0'])"),
  ].filter((one) => !one.disabled && one.checkVisibility());
  return able.slice(0, 50).flatMap((one) => {
    const around = [one, one.parentElement, one.parentElement.parentElement];
    const plain = around.map(marks).join();
    one.focus({ preventScroll: true });
    const focused = around.map(marks).join();
    one.blur();
    return focused === plain ? [one.outerHTML.slice(0, 160)] : [];
  });
};

describe("every page", () => {
  for (const [name, path] of Object.entries(PAGES))
    onPage(
      `${name}: no error, ${isAsked(name) ? "no violation of accessibility in either theme, " : ""}nothing wider than a phone`,
      async (page, open) => {
        await open(path);
        await arrived(page);
        assert.equal(await page.locator(".message[role=alert]").count(), 0);
        const current = await page.$$eval("nav", (all) =>
          all.map((nav) => nav.querySelectorAll("[aria-current]").length),
        );
        assert.ok(Math.max(...current) <= 1, `of each navigation one place is the current one: ${current}`);
        if (isAsked(name)) {
          await page.evaluate(AXE);
          const violations = (rules) =>
            page.evaluate(async (only) => {
              const found = await window.axe.run(document, only ? { runOnly: { type: "rule", values: only } } : {});
              return found.violations.map(
                (one) =>
                  `${one.id}: ${one.nodes
                    .slice(0, 3)
                    .map((node) => node.html.slice(0, 160))
                    .join(" | ")}`,
              );
            }, rules);
          assert.deepEqual(await violations(null), [], "light");
          await page.getByRole("button", { name: "Use dark colours" }).click();
          await page.waitForFunction(() => document.documentElement.dataset.mantineColorScheme === "dark");
          assert.deepEqual(await violations(["color-contrast"]), [], "dark");
          await page.getByRole("button", { name: "Use light colours" }).click();
        }
        await page.keyboard.press("/");
        await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "combobox");
        await page.keyboard.press("Escape");
        await page.evaluate(() => document.activeElement.blur());
        await page.keyboard.press("?");
        await page.getByRole("dialog").getByText("these keys").waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
        // Whatever has the keyboard's focus shows it.
        await page.keyboard.press("Tab");
        assert.deepEqual(await page.evaluate(UNMARKED), []);
        await page.setViewportSize({ width: 390, height: 844 });
        await page.waitForTimeout(150);
        const [wide, room] = await page.evaluate(() => {
          const content = document.getElementById("content");
          return [content.scrollWidth, content.clientWidth];
        });
        assert.ok(wide <= room, `${wide} of ${room} px`);
      },
    );
});

describe("why", () => {
  onPage(
    "a job says what changed with its failures; a failed run leads there, and two runs show all that differs",
    async (page, open) => {
      await open(PAGES.why);
      await page.getByRole("heading", { name: /^engine python/ }).waitFor();
      await page.getByText("3.12.8 → 3.13.1").first().waitFor();
      await page.getByText(/3 bad and 0 good with it, 0 bad and 20 good without/).waitFor();
      await page.getByRole("link", { name: /\d/ }).last().click();
      await page.getByRole("link", { name: "Why it failed" }).click();
      await page.getByRole("heading", { name: /^engine python/ }).waitFor();
      await page.getByRole("link", { name: "Beside another" }).click();
      await page.getByRole("heading", { name: "All that differs" }).waitFor();
    },
  );

  onPage("a run with nothing to compare it with has no cause, and no chance is told", async (page, open) => {
    await open("runs/01990000-0000-7000-8000-000000000043/why");
    await page.getByText("No run before it ended well: there is nothing to compare with.").waitFor();
    await page.getByText("Every run that was compared is bad").waitFor();
    assert.equal(await page.getByText(/by chance: 100 %/).count(), 0);
  });
});

describe("what if", () => {
  onPage(
    "from a column to what breaks, whom to warn and the way there; SQL asks as well, and the address keeps it",
    async (page, open) => {
      await open(`columns/${bare("dataset:postgres://site:5432:site.public.clicks")}/session`);
      await page.getByRole("link", { name: "What if" }).last().click();
      await page.getByRole("heading", { name: "Whom to warn" }).waitFor();
      await page.getByText(/jobs? would break, (all|\d+) of them perhaps/).waitFor();
      const warned = await page.getByRole("region", { name: "Whom to warn" }).innerText();
      assert.match(warned, /ben\s/);
      assert.match(warned, /cleo\s/);
      const row = page.getByRole("region", { name: "Downstream" }).getByRole("row").filter({ hasText: "funnel" });
      assert.match(await row.first().innerText(), /sessionize/);
      await page.getByRole("button", { name: "Rename" }).click();
      assert.equal(await page.getByRole("button", { name: "What would happen" }).isDisabled(), true);
      await page.getByLabel("New name").fill("visit");
      await page.keyboard.press("Enter");
      await page.waitForURL(/do=rename.*to=visit/);
      await page.getByRole("heading", { name: /^rename column .*session to visit$/ }).waitFor();
      await page.reload();
      await page.getByRole("heading", { name: /^rename column .*session to visit$/ }).waitFor();
      await page.getByRole("button", { name: "SQL" }).click();
      await page.getByLabel("SQL").fill("drop table site.public.clicks; drop table site.public.nowhere");
      await page.getByRole("button", { name: "What would happen" }).click();
      await page.getByText("site.public.nowhere is not known to the server").waitFor();
      await page.getByRole("heading", { name: /^drop table .*clicks$/ }).waitFor();
      await page.goBack();
      await page.getByRole("heading", { name: /^rename column/ }).waitFor();
    },
  );
  onPage(
    "a name that is none is answered with names that are near",
    async (page, open) => {
      await open("whatif?of=site.public.clicks.sesion");
      await page.getByText(/has no column 'sesion'; the nearest: session/).waitFor();
    },
    { expected: ["404"] },
  );
});

describe("privacy", () => {
  onPage("from a tag to its columns, how hidden they are, and who reads them", async (page, open) => {
    await open("privacy");
    const columns = page.getByRole("table", { name: "Columns that carry it" });
    const row = (name) => columns.getByRole("row").filter({ has: page.getByRole("link", { name, exact: true }) });
    assert.match(await row("clicks.session").innerText(), /tagged here/);
    assert.match(
      await row("sessions.session").innerText(),
      /plain[\s\S]*clicks\.session → sessionize → sessions\.session/,
    );
    assert.match(await row("sessions.step").innerText(), /only aggregated/);
    assert.match(await page.getByRole("table", { name: "Datasets" }).innerText(), /sessions\s+\d\s+ben, team web/);
    await page.getByRole("table", { name: "Readers" }).getByRole("link", { name: "sessionize" }).waitFor();
    await page.getByLabel("Tag").fill("nothing");
    await page.keyboard.press("Enter");
    await page.getByText("No column carries nothing").waitFor();
    await page.goBack();
    await row("sessions.session").getByRole("link").first().click();
    await page.waitForURL(/columns\/.*sessions\/session/);
  });
});

describe("dashboards", () => {
  onPage("are listed by their titles with what they show, and lead to their lineage", async (page, open) => {
    await open("catalogue/dashboards");
    const row = page.getByRole("row").filter({ hasText: "Funnel, this week" });
    await row.getByText("late").waitFor();
    assert.match(await row.innerText(), /dashboard\s+metabase\s+funnel\s+cleo, team growth\s+late/);
    await page.getByLabel("Part of a title").fill("no such");
    await page.getByText("No dashboard is like this").waitFor();
    await page.getByLabel("Part of a title").fill("funnel");
    await row.getByRole("link", { name: "Funnel, this week" }).click();
    await page.locator("h1", { hasText: "dashboard/7" }).waitFor();
    await page.getByRole("link", { name: "Lineage", exact: true }).last().click();
    await settled(page);
    assert.ok((await cards(page)).includes("funnel"));
  });
});

describe("what may be removed", () => {
  onPage("says the evidence in words, and what it cost once beside what it saves", async (page, open) => {
    await open("usage/pruning");
    const row = page.getByRole("row").filter({ hasText: "archive" }).filter({ hasText: "90 days of log" });
    await row.waitFor();
    const text = await row.innerText();
    assert.match(text, /2 % of what ran could hide a read/);
    assert.match(text, /13\s+2\.5\s/);
    assert.doesNotMatch(text, /\{|log_days/);
    const stays = page.getByRole("region", { name: "In use outside of the log" }).getByRole("row").last();
    assert.match(await stays.innerText(), /exported\s+another producer's job:\s+send to partner\s+\d+ min/);
    assert.equal(await page.getByRole("region", { name: "What may be removed" }).getByText("exported").count(), 0);
  });
});

describe("finding", () => {
  onPage("names differ on cards, in search and in lists; all hits can be reached by keys", async (page, open) => {
    await open(lineage("dataset:file:/data/enriched/flights", "?direction=upstream&depth=9"));
    await settled(page);
    await page.keyboard.press("f");
    await settled(page);
    const names = await cards(page);
    for (const name of ["raw/flights", "staged/flights", "clean/flights", "enriched/flights"])
      assert.ok(names.includes(name), `${name} in ${names}`);
    await page.keyboard.press("/");
    await page.getByRole("combobox", { name: /^Search/ }).fill("flights");
    await page.getByText(/\d+ hits/).waitFor();
    const total = Number.parseInt(await page.locator(".palette-note").innerText(), 10);
    for (;;) {
      const more = page.getByText(/^Show more:/);
      if ((await more.count()) === 0) break;
      await more.click();
      await page.waitForTimeout(200);
    }
    assert.equal(await page.locator(".hit:has(strong)").count(), total);
    const texts = await page.$$eval(".hit:has(strong)", (all) =>
      all.map((one) => `${one.title.split(":")[0]} ${one.querySelector("strong").textContent}`),
    );
    assert.equal(new Set(texts).size, texts.length, "each hit has a name of its own");
    for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowDown");
    const active = await page.getByRole("combobox", { name: /^Search/ }).getAttribute("aria-activedescendant");
    const wanted = await page.locator(`#${active}`).getAttribute("title");
    await page.keyboard.press("Enter");
    await page.locator("h1").waitFor();
    assert.ok(
      page.url().includes(bare(wanted)) || decodeURIComponent(page.url()).includes(decodeURIComponent(bare(wanted))),
    );
  });

  onPage("in the list of jobs a package stands for its jobs until it is opened", async (page, open) => {
    await open("catalogue/jobs?namespace=flights");
    const rows = page.getByRole("table", { name: "Jobs" }).locator("tbody tr");
    await rows.first().waitFor();
    const folded = await rows.count();
    assert.equal(await page.getByRole("link", { name: "clean-flights.flights" }).count(), 0);
    await page.getByRole("button", { name: "Unfold the 2 jobs of clean-flights" }).click();
    await page.getByRole("link", { name: "clean-flights.flights" }).waitFor();
    assert.equal(await rows.count(), folded + 2);
    await page.reload();
    await page.getByRole("button", { name: "Fold the 2 jobs of clean-flights" }).click();
    await page.getByRole("link", { name: "clean-flights.flights" }).waitFor({ state: "detached" });
    await page.getByLabel("Part of a name").fill("clean-flights.");
    await page.getByRole("link", { name: "clean-flights.flights" }).waitFor();
  });

  onPage("on a phone facets wait behind a button, and a past time leaves the bar whole", async (page, open) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open("catalogue/datasets?asOf=2026-01-01T00:00:00Z");
    await arrived(page);
    const rows = page.getByRole("table", { name: "Datasets" }).locator("tbody tr");
    assert.ok((await rows.first().boundingBox()).y < 422, "the list begins in the upper half");
    await page.getByRole("button", { name: "Narrow by" }).click();
    await page.getByRole("button", { name: "metabase" }).first().waitFor();
    const theme = await page.getByRole("button", { name: "Use dark colours" }).boundingBox();
    assert.ok(theme.x + theme.width <= 390);
    for (const [path, tab] of [
      ["settings/server", "Server"],
      ["catalogue/tags", "Tags"],
    ]) {
      await open(path);
      const link = await page.locator(".tabs").getByRole("link", { name: tab, exact: true }).boundingBox();
      assert.ok(link.x >= 0 && link.x + link.width <= 390, `the tab ${tab} is in view`);
    }
  });

  onPage("a list narrows, sorts, hides columns, keeps it in the address, and goes to a file", async (page, open) => {
    await open("catalogue/datasets");
    await page.getByRole("button", { name: "pii:false" }).click();
    await page.getByText(/of 6$/).waitFor();
    await page.getByRole("button", { name: "Name" }).click();
    await page.waitForURL(/sort=name/);
    await page.getByText("Columns", { exact: true }).first().click();
    await page.getByLabel("Namespace").uncheck();
    await page.waitForURL(/without=namespace/);
    await page.reload();
    await page.getByText(/of 6$/).waitFor();
    assert.equal(await page.getByRole("columnheader", { name: "Namespace" }).count(), 0);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    const text = readFileSync(await file.path(), "utf8");
    assert.equal(text.trim().split("\r\n").length, 7);
    assert.match(text, /^\ufeffName,/);
  });
});

describe("the graph", () => {
  onPage("an old link leads to the same view", async (page, open) => {
    await open(
      `?node=${encodeURIComponent(CLEAN)}&depth=2&columns=1&selected=${encodeURIComponent(CLEAN)}&field=dep_delay`,
    );
    await settled(page);
    assert.match(page.url(), /\/lineage\/dataset(%3A|:)file/);
    assert.deepEqual(search(page), { depth: "2", columns: "true", field: "dep_delay" });
    assert.ok((await page.locator(".row.is-on").count()) > 1);
  });

  onPage(
    "a column lights up its path; Escape leaves it, Back brings it back, reload shows the same",
    async (page, open) => {
      await open(lineage(CLEAN, "?columns=true&depth=1"));
      await settled(page);
      await page.locator(`[data-card=${JSON.stringify(CLEAN)}] [data-field=carrier]`).click();
      await page.waitForURL(/field=carrier/);
      await page.locator(".graph.is-tracing").waitFor();
      await page.reload();
      await settled(page);
      await page.locator(".graph.is-tracing").waitFor();
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !location.search.includes("field"));
      await page.goBack();
      await page.waitForURL(/field=carrier/);
    },
  );

  onPage("what is left out is counted, and one click away", async (page, open) => {
    await open(lineage("dataset:grid:grid.d0_0", "?depth=100&nodes=100"));
    await settled(page);
    const notice = page.locator(".notices");
    const text = await notice.innerText();
    const [all, left] = text
      .match(/nodes of (\d+) are shown; (\d+) nodes are left out/)
      .slice(1)
      .map(Number);
    assert.equal(all, 100 + left);
    await notice.getByRole("button", { name: `Show all ${all}` }).click();
    await page.waitForFunction((n) => Number(document.querySelector(".graph")?.dataset.nodes) === n, all);
    await open(lineage("dataset:grid:grid.d0_0", "?depth=1"));
    await settled(page);
    assert.match(await notice.innerText(), /Beyond depth 1: \d+ nodes? with more downstream/);
    await notice.getByRole("button", { name: "All" }).click();
    await page.waitForFunction(() => Number(document.querySelector(".graph")?.dataset.nodes) > 200);
  });

  onPage("fit fills the canvas", async (page, open) => {
    await open(lineage("dataset:grid:fan.hub", "?depth=1"));
    await settled(page);
    await page.keyboard.press("f");
    const [, , k] = (await settled(page)).split(" ").map(Number);
    const [width, height] = (await page.locator(".graph").getAttribute("data-world")).split(" ").map(Number);
    const box = await page.locator(".graph").boundingBox();
    assert.ok(
      (width * k) / box.width > 0.7 && (height * k) / box.height > 0.7,
      `${width * k} × ${height * k} of ${box.width} × ${box.height}`,
    );
  });

  onPage("a package stands for its steps until it is opened, and folds again", async (page, open) => {
    await open(lineage("job:flights:clean-flights", "?depth=1"));
    await settled(page);
    assert.ok((await cards(page)).includes("clean-flights"));
    const nodes = () => page.locator(".graph").getAttribute("data-nodes").then(Number);
    const folded = await nodes();
    await page.getByRole("button", { name: /Unfold the 2 jobs/ }).click();
    await page.waitForFunction((was) => Number(document.querySelector(".graph").dataset.nodes) > was, folded);
    await page.goBack();
    await page.waitForFunction((was) => Number(document.querySelector(".graph").dataset.nodes) === was, folded);
  });

  onPage(
    "before its first event it says so, and leads to it",
    async (page, open) => {
      await open(lineage(CLEAN, "?asOf=2001-01-01T00:00:00Z"));
      await page.getByText("It was not known yet at that time").waitFor();
      await page.getByRole("link", { name: "Go to its first event" }).click();
      await settled(page);
      assert.ok(search(page).asOf > "2020");
      await page.getByRole("link", { name: "Back to now" }).click();
      await page.waitForFunction(() => !location.search.includes("asOf"));
    },
    { expected: ["404"] },
  );

  onPage("two times on one drawing", async (page, open) => {
    const since = new Date(Date.now() - 60 * 24 * 2.5 * 60_000).toISOString().replace(/\.\d+Z/, "Z");
    await open(lineage("dataset:postgres://shop:5432:shop.public.revenue", `?since=${since}`));
    await settled(page);
    await page.getByText(/Compared with .*nodes: \d+ added, 1 changed/).waitFor();
    assert.match(await page.locator(".legend").innerText(), /added\s+gone\s+changed\s+same/);
  });

  onPage("a path between two nodes, and a selector", async (page, open) => {
    await open(
      lineage(
        "dataset:file:/data/raw/flights",
        `?to=${encodeURIComponent("dataset:file:/data/report/index.html")}&depth=1`,
      ),
    );
    await settled(page);
    await page.getByText(/shortest paths? of \d+ edges/).waitFor();
    assert.ok((await page.locator(".graph").getAttribute("data-nodes")) > 5);
    await open(lineage(CLEAN, `?filter=${encodeURIComponent("clean/flights+1 -type:job")}`));
    await settled(page);
    await page.getByText(/1 node of \d+ found/).waitFor();
  });

  onPage("filters: what is left out is counted, ways through it stay, all in the address", async (page, open) => {
    await open(lineage(CLEAN, "?depth=3"));
    await settled(page);
    const nodes = async () => Number(await page.locator(".graph").getAttribute("data-nodes"));
    const all = await nodes();
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByLabel("Kind").selectOption("dataset");
    await page.getByRole("button", { name: "Filter", exact: true }).last().click();
    const notice = page.getByText(/\d+ nodes left out by filters/);
    await notice.waitFor();
    await settled(page);
    assert.match(page.url(), /[?&]type=dataset/);
    const left = Number(/(\d+) nodes/.exec(await notice.textContent())[1]);
    assert.ok(left > 0 && (await nodes()) < all);
    assert.ok((await page.locator(".lineage-head .count").textContent()).includes("edge"));
    // A shared link shows the same.
    await page.reload();
    await settled(page);
    await page.getByRole("button", { name: "1 filter" }).waitFor();
    await page.getByRole("button", { name: "Remove the filters" }).click();
    await settled(page);
    await page.waitForFunction((n) => Number(document.querySelector(".graph")?.dataset.nodes) === n, all);
    assert.doesNotMatch(page.url(), /type=/);
    await page.getByLabel("Find in the graph").fill("after:soon");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("after:soon is not a time").waitFor();
  });

  onPage("by keys alone: along the edges, into the details, to the table and back", async (page, open) => {
    await open(lineage(CLEAN, "?depth=1"));
    await settled(page);
    await page.locator(".graph").focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await page.locator(".inspector h2", { hasText: "clean-flights.flights" }).waitFor();
    await page.keyboard.press("t");
    await page.getByRole("table", { name: "Nodes of the graph" }).waitFor();
    assert.equal(await page.locator("[aria-pressed=true] .name").innerText(), "clean-flights.flights");
    await page.keyboard.press("t");
    await settled(page);
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("these keys").waitFor();
  });

  onPage("to take along: SVG, PNG, CSV, Mermaid, JSON", async (page, open) => {
    await open(lineage(CLEAN, "?depth=1"));
    await settled(page);
    for (const [item, wanted] of [
      ["Picture, SVG", /^<svg[\s\S]*clean\/flights[\s\S]*<\/svg>$/],
      ["Picture, PNG", /^.PNG/],
      ["Nodes, CSV", /dataset:file:\/data\/clean\/flights,dataset,0/],
      ["Mermaid", /flowchart LR[\s\S]*-->/],
      ["JSON", /"root": "dataset:file:\/data\/clean\/flights"/],
    ]) {
      await page.getByRole("button", { name: "Export" }).click();
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("menuitem", { name: item }).click(),
      ]);
      assert.match(readFileSync(await file.path(), "latin1"), wanted, item);
    }
  });
});

describe("saved views", () => {
  onPage("are kept under a name, open again, and are let go", async (page, open) => {
    await open(lineage(CLEAN, "?depth=1&lens=state"));
    await settled(page);
    await page.getByRole("button", { name: "Save this view" }).click();
    await page.getByLabel("Save this view as").fill("clean flights, last runs");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name: /^Saved as clean flights/ }).waitFor();
    await open("");
    await page.getByRole("link", { name: "clean flights, last runs" }).click();
    await settled(page);
    assert.deepEqual(search(page), { depth: "1", lens: "state" });
    // The palette finds it, too.
    await open("");
    await page.getByRole("button", { name: /^Search/ }).click();
    await page.getByRole("combobox").fill("last runs");
    await page.getByRole("option", { name: "clean flights, last runs saved view" }).click();
    await settled(page);
    assert.deepEqual(search(page), { depth: "1", lens: "state" });
    await page.getByRole("button", { name: /^Saved as clean flights/ }).click();
    await page.getByRole("button", { name: "Save this view" }).waitFor();
  });
});

describe("trouble", () => {
  onPage(
    "a server that does not answer is named, and asked again",
    async (page, open) => {
      await open("catalogue/datasets");
      await arrived(page);
      await page.route("**/api/v2/jobs*", (route) => route.abort());
      await page.getByRole("navigation", { name: "Kinds" }).getByRole("link", { name: "Jobs" }).click();
      await page.getByText("The server does not answer").waitFor();
      await page.unroute("**/api/v2/jobs*");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("table", { name: "Jobs" }).waitFor();
    },
    { expected: ["ERR_FAILED"] },
  );

  onPage(
    "a server whose database is away is not called unreachable: its own words stand there",
    async (page, open) => {
      await page.route("**/api/v2/jobs*", (route) =>
        route.fulfill({ status: 503, contentType: "application/json", body: '{"message": "The database is away."}' }),
      );
      await open("catalogue/jobs");
      await page.getByRole("alert").getByText("The database is away.").waitFor();
      assert.equal(await page.getByText("not reachable").count(), 0);
    },
    { expected: ["503"] },
  );

  onPage(
    "what is not there is said to be not there",
    async (page, open) => {
      await open(dataset("dataset:file:/nothing"));
      await page.getByRole("heading", { name: "Not found" }).waitFor();
      await page.getByRole("link", { name: "Look in the catalogue" }).waitFor();
      // Once, though the page asks for more than one part of it.
      for (const path of [`columns/${bare("dataset:file:/nothing")}/id`, "schedules/nothing"]) {
        await open(path);
        await page.getByRole("heading", { name: "Not found" }).first().waitFor();
        await page.waitForLoadState("networkidle");
        assert.equal(await page.getByRole("heading", { name: "Not found" }).count(), 1, path);
      }
      await open("nowhere/at/all");
      await page.getByText("There is no such page").waitFor();
    },
    { expected: ["404"] },
  );

  onPage("names are only ever text, and each leads to its own page", async (page, open) => {
    await open("catalogue/datasets?namespace=file&q=&sort=name");
    await arrived(page);
    for (const name of HOSTILE) {
      const id = `dataset:file:${name}`;
      await open(dataset(id));
      await page.locator(".page-title").waitFor();
      assert.equal(
        await page.locator(".lede .name").getAttribute("title"),
        id.length > 1200 ? await page.locator(".lede .name").getAttribute("title") : id,
      );
      await page.getByRole("link", { name: "Lineage", exact: true }).last().click();
      await settled(page);
    }
    assert.equal(await page.evaluate(() => window.__pwned), undefined);
  });
});
