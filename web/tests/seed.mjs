// What the real server is filled with: the recorded events of the flights example, moved to now, and made-up ones for
// what it does not have: failures, a late dataset, failed checks, measures of a query log, names from hostile places.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, "../..");
export const PRODUCER = "https://example.org/seed";
const MINUTE = 60_000;

export const HOSTILE = [
  "<img src=x onerror=window.__pwned=1>",
  "<script>window.__pwned=2</script>",
  'quote " and \\ back : colon ?a&c#e %2F%3A / slash',
  "../../../etc/passwd",
  "🦩🪿 naïve 数据 \u202Edesrever\u202C",
  `${"very_long_".repeat(60)}the_end!!!`,
  "javascript:window.__pwned=3",
  "$" + "{window.__pwned=4} {{constructor}}",
];
const NOW = Date.now();
const at = (ms) => new Date(ms).toISOString();
let serial = 0;
const runId = () => `01990000-0000-7000-8000-${String(++serial).padStart(12, "0")}`;
const facet = (values) => ({ _producer: PRODUCER, _schemaURL: `${PRODUCER}.json`, ...values });

/** The flights example as it was recorded, its last event five minutes ago. */
export function flights() {
  const lines = gunzipSync(readFileSync(join(HERE, "data/flights.ndjson.gz")))
    .toString()
    .trim()
    .split("\n");
  const events = lines.map((line) => JSON.parse(line));
  const shift = NOW - 5 * MINUTE - Math.max(...events.map((event) => Date.parse(event.eventTime)));
  for (const event of events) event.eventTime = at(Date.parse(event.eventTime) + shift);
  return events;
}

export function run(
  job,
  start,
  { inputs = [], outputs = [], took = 60_000, end = "COMPLETE", parent, facets = {}, namespace = "shop" } = {},
) {
  const id = runId();
  const about = {
    runId: id,
    facets: {
      ...facets,
      ...(parent ? { parent: facet({ run: { runId: parent.run }, job: { namespace, name: parent.job } }) } : {}),
    },
  };
  const event = (eventType, time) => ({
    eventType,
    eventTime: at(time),
    producer: PRODUCER,
    run: about,
    job: { namespace, name: job, facets: {} },
    inputs,
    outputs,
  });
  const events = [event("START", start)];
  if (end) events.push(event(end, start + took));
  return { id, events };
}

export const table = (name, columns = ["id", "amount"], facets = {}, namespace = "postgres://shop:5432") => ({
  namespace,
  name,
  facets: { schema: facet({ fields: columns.map((column) => ({ name: column, type: "int" })) }), ...facets },
});

/** A shop whose orders come hourly, until four hours ago; whose checks fail, and whose report failed. */
export function shop() {
  const events = [];
  const orders = table("shop.public.orders", ["id", "customer", "amount"], {
    ownership: facet({ owners: [{ name: "ana", type: "OWNER" }] }),
    documentation: facet({ description: "One row an order, as the shop took it." }),
  });
  for (let hour = 40; hour >= 4; hour--)
    events.push(
      ...run("load-orders", NOW - hour * 60 * MINUTE, {
        outputs: [orders],
        took: hour < 14 ? 300_000 : 60_000 + (hour % 5) * 900,
      }).events,
    );
  const checks = {
    dataQualityAssertions: facet({
      assertions: [
        { assertion: "not_null", column: "id", success: true },
        { assertion: "unique", column: "id", success: false },
      ],
    }),
  };
  for (let day = 5; day >= 1; day--)
    events.push(
      ...run("mart", NOW - day * 1440 * MINUTE, {
        inputs: [{ ...orders, inputFacets: checks }],
        outputs: [table("shop.public.revenue", day < 3 ? ["day", "revenue", "orders"] : ["day", "revenue"])],
      }).events,
    );
  const failed = {
    errorMessage: facet({
      message: "division by zero in column margin",
      programmingLanguage: "SQL",
      stackTrace: "at margin.sql:12",
    }),
  };
  events.push(
    ...run("report", NOW - 90 * MINUTE, {
      inputs: [table("shop.public.revenue", ["day", "revenue", "orders"])],
      outputs: [table("shop.public.report", ["day"])],
      end: "FAIL",
      facets: failed,
    }).events,
  );
  events.push(
    ...run("train", NOW - 3 * MINUTE, {
      inputs: [table("shop.public.revenue", ["day", "revenue", "orders"])],
      end: null,
    }).events,
  );
  return events;
}

const named = (owner, ...tags) => ({
  ...(owner ? { ownership: facet({ owners: [{ name: owner, type: "OWNER" }] }) } : {}),
  tags: facet({ tags: tags.map(([key, value]) => ({ key, value, source: "seed" })) }),
});

const python = (version) => ({ processing_engine: facet({ name: "python", version }) });

/** A site's clicks, hourly, whose import fails since three hours, on a newer Python: sessions, the funnel and its dashboard are late. */
export function clicks() {
  const web = (name, facets) => table(name, ["session", "step", "at"], facets, "postgres://site:5432");
  const raw = web("site.public.clicks", named(null, ["team", "web"]));
  // Whose session it was: a column that says something of a person, and its copy downstream.
  raw.facets.tags.tags.push({ key: "pii", value: "true", source: "seed", field: "session" });
  const from = (field, subtype) => ({
    namespace: raw.namespace,
    name: raw.name,
    field,
    transformations: [{ type: "DIRECT", subtype }],
  });
  const sessions = web("site.public.sessions", {
    ...named("ben", ["team", "web"], ["product", "funnel"]),
    columnLineage: facet({
      fields: {
        session: { inputFields: [from("session", "IDENTITY")] },
        step: { inputFields: [from("session", "AGGREGATION")] },
      },
    }),
  });
  const funnel = web("site.public.funnel", named("cleo", ["team", "growth"], ["product", "funnel"]));
  const dashboard = {
    namespace: "metabase",
    name: "dashboard/7",
    facets: {
      documentation: facet({ description: "Funnel, this week" }),
      datasetType: facet({ datasetType: "DASHBOARD" }),
      ...named("cleo", ["team", "growth"], ["product", "insights"]),
    },
  };
  const steps = [
    ["import-clicks", [], [raw]],
    ["sessionize", [raw], [sessions]],
    ["funnel", [sessions], [funnel]],
    ["refresh dashboard 7", [funnel], [dashboard]],
  ];
  const hourly = Array.from({ length: 20 }, (_, i) => 23 - i);
  const good = hourly.flatMap((hour) =>
    steps.flatMap(
      ([job, inputs, outputs], i) =>
        run(job, NOW - (hour * 60 - i * 3) * MINUTE, { inputs, outputs, namespace: "web", facets: python("3.12.8") })
          .events,
    ),
  );
  const failure = {
    ...python("3.13.1"),
    errorMessage: facet({ message: "HTTP 503 of the click stream", programmingLanguage: "PYTHON" }),
  };
  const failed = [3, 2, 1].flatMap(
    (hour) =>
      run("import-clicks", NOW - hour * 60 * MINUTE, { outputs: [raw], end: "FAIL", facets: failure, namespace: "web" })
        .events,
  );
  return [...good, ...failed];
}

/** What a warehouse's query log was found to tell. */
export function measures() {
  const namespace = "snowflake://acme-eu";
  const time = at(NOW - 60 * MINUTE);
  const dataset = (name, facets) => ({
    eventTime: time,
    producer: PRODUCER,
    dataset: { namespace, name, facets: named(facets) },
  });
  const job = (name, facets) => ({
    eventTime: time,
    producer: PRODUCER,
    job: { namespace, name, facets: named(facets) },
  });
  const named = (facets) =>
    Object.fromEntries(Object.entries(facets).map(([key, values]) => [`headwater_${key}`, facet(values)]));
  const days = Array.from({ length: 14 }, (_, i) => ({
    day: at(NOW - (i + 1) * 1440 * MINUTE).slice(0, 10),
    dialect: "snowflake",
    executions: 100,
    fullExecutions: 96 - (i % 4),
    nothingExecutions: 4 + (i % 4),
  }));
  return [
    dataset("db.sales", {
      usage: {
        reads: 120,
        readsByPeople: 90,
        readsByBi: 30,
        writes: 12,
        distinctReaders: 7,
        distinctPeople: 5,
        activeDays: 20,
        status: "active",
        lastReadAt: time,
        topReaders: [{ actor: "ann@acme.example", kind: "person", reads: 70, lastReadAt: time }],
      },
      cost: { grain: "table", money: 41.5, executions: 132, keepMonth: 3.25, share: 0.6 },
    }),
    dataset("db.archive", {
      usage: { writes: 30, reads: 0, status: "unread" },
      cost: { money: 20, executions: 30, keepMonth: 9, share: 0.3 },
      pruning: {
        wave: 1,
        reason: "no one reads it",
        moneyMonth: 12.5,
        evidence: JSON.stringify({
          log_days: 90,
          vouches_days: 84,
          writes: 30,
          money_once: 2.5,
          feeds: 0,
          hidden: 0.02,
        }),
        confidence: 0.94,
      },
    }),
    dataset("db.staging_archive", {
      usage: { writes: 30, reads: 30, readsByPipelines: 30, status: "stale" },
      pruning: { wave: 2, reason: "it only feeds db.archive", moneyMonth: 4, evidence: "one reader", confidence: 0.8 },
    }),
    dataset("db.exported", {
      usage: { writes: 30, reads: 0, status: "unread" },
      pruning: { wave: 1, reason: "unread", moneyMonth: 3, evidence: "no read in 90 days", confidence: 0.9 },
    }),
    // A reader that no query log shows.
    ...run("send to partner", NOW - 30 * MINUTE, { inputs: [table("db.exported", ["id"], {}, namespace)] }).events,
    job("MERGE INTO db.sales 1f", {
      recurrence: {
        class: "recurring",
        executions: 60,
        periodSeconds: 3600,
        runsPerPeriod: 1,
        missing: 2,
        missingAt: [time],
        confidence: 0.97,
        lastAt: time,
      },
      cost: { grain: "shape", money: 22, executions: 60 },
    }),
    job("SELECT FROM db.sales 2e", {
      recurrence: { class: "ad_hoc", executions: 9, confidence: 0.6 },
      cost: { grain: "shape", money: 2, executions: 9 },
    }),
    job("query-log", {
      cost: { grain: "log", drivers: [{ grain: "user", key: "ann@acme.example", money: 12.5, executions: 70 }] },
      quality: { days },
    }),
  ];
}

/** A table that was renamed, and one of whose columns was, as a query log and two schemas tell it. */
export function altered() {
  const namespace = "snowflake://acme-eu";
  const ago = (days) => at(NOW - days * 1440 * MINUTE);
  const dataset = (name, days, items, columns) => ({
    eventTime: ago(days),
    producer: PRODUCER,
    dataset: {
      namespace,
      name,
      facets: {
        ...(items.length > 0 && { headwater_changes: facet({ items }) }),
        ...(columns && { schema: facet({ fields: columns.map(([column, type]) => ({ name: column, type })) }) }),
      },
    },
  });
  const change = (days, action, actor, statement, more = {}) => ({
    firstAt: ago(days),
    action,
    actor,
    statement,
    queryId: `q${days}`,
    ...more,
  });
  return [
    dataset("db.items", 27, [
      change(30, "created", "ann@acme.example", "create table db.items as select id, tax from db.raw"),
      change(28, "renamed_to", "bob@acme.example", "alter table db.items rename to db.lines", { other: "db.lines" }),
    ]),
    dataset(
      "db.lines",
      20,
      [
        change(28, "renamed_from", "bob@acme.example", "alter table db.items rename to db.lines", {
          other: "db.items",
        }),
        change(25, "renamed_column", "bob@acme.example", "alter table db.lines rename column tax to vat", {
          column: "tax",
          to: "vat",
          jobName: "shop.migrations",
        }),
      ],
      [
        ["id", "int"],
        ["vat", "numeric"],
      ],
    ),
    dataset(
      "db.lines",
      10,
      [],
      [
        ["id", "bigint"],
        ["vat", "numeric"],
        ["note", "text"],
      ],
    ),
  ];
}

/** A DAG of Airflow without `clean >> report`, and with a wait for nothing: one run of four in which the report came too early. */
export function dag() {
  const lake = (name) => table(`lake.${name}`, ["id"], {}, "postgres://shop:5432");
  const tasks = {
    load: { after: ["clean", "audit"], from: 0, took: 10, outputs: [lake("raw")] },
    clean: { after: [], from: 11, took: 20, inputs: [lake("raw")], outputs: [lake("clean")] },
    report: { after: [], from: 60, took: 10, inputs: [lake("clean")], outputs: [lake("report")] },
    audit: { after: [], from: 12, took: 1, inputs: [lake("ledger")] },
  };
  const airflow = facet({
    tasks: Object.fromEntries(Object.entries(tasks).map(([name, { after }]) => [name, { downstream_task_ids: after }])),
  });
  return [1, 2, 3, 4].flatMap((day) => {
    const start = NOW - day * 1440 * MINUTE;
    const whole = run("nightly", start, { took: 120 * MINUTE });
    for (const event of whole.events) event.job.facets = { airflow };
    return [
      ...whole.events,
      ...Object.entries(tasks).flatMap(
        ([name, { from, took, inputs, outputs }]) =>
          run(`nightly.${name}`, start + from * MINUTE, {
            inputs,
            outputs,
            took: (name === "clean" && day === 2 ? 90 : took) * MINUTE,
            parent: { run: whole.id, job: "nightly" },
          }).events,
      ),
    ];
  });
}

/** Names that try to be something else. */
export function hostile() {
  return HOSTILE.flatMap(
    (name, i) =>
      run(`job ${name}`, NOW - (i + 10) * MINUTE, {
        inputs: [table(name, [name.slice(0, 80), "plain"], {}, "file")],
        outputs: [table(`out of ${name}`, ["plain"], {}, "file")],
      }).events,
  );
}

/** A layered graph of about `size` nodes around `grid.d0_0`; `width` of a row, by default so that it is longer than wide. */
export function grid(size, name = "grid", width = Math.max(Math.ceil(Math.sqrt(size / 8)), 2)) {
  const events = [];
  const layers = Math.ceil(size / 2 / width);
  for (let layer = 0; layer + 1 < layers; layer++)
    for (let i = 0; i < width; i++) {
      const node = (l, k) => table(`${name}.d${l}_${k}`, ["a", "b"], {}, "grid");
      const inputs = [node(layer, i), node(layer, (i * 7 + layer) % width)];
      events.push(
        run(`${name}.j${layer}_${i}`, NOW - 60 * MINUTE, { inputs, outputs: [node(layer + 1, i)], namespace: "grid" })
          .events[1],
      );
    }
  return events;
}

/** One dataset that `many` jobs read. */
export function fan(many) {
  const hub = table("fan.hub", ["a"], {}, "grid");
  return Array.from(
    { length: many },
    (_, i) =>
      run(`fan.reader_${i}`, NOW - 60 * MINUTE, {
        inputs: [hub],
        outputs: [table(`fan.out_${i}`, ["a"], {}, "grid")],
        namespace: "grid",
      }).events[1],
  );
}

export async function post(base, path, body) {
  const response = await fetch(new URL(path, base), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer).slice(0, 500)}`);
  return answer;
}

export async function send(base, events) {
  for (let i = 0; i < events.length; i += 500) {
    const answer = await post(base, "api/v1/lineage/batch", events.slice(i, i + 500));
    if (answer.summary.failed) throw new Error(JSON.stringify(answer.failed_events.slice(0, 2)));
  }
}

/** The flights example's schedules, with a month of parts, ten hours of which are missing. */
export async function schedules(base, ask = (path, body) => post(base, path, body)) {
  const text = readFileSync(join(ROOT, "examples/flights/entities.yaml"), "utf8");
  const made = { hourly_weather: "weather", enrich_flights: "flights", hourly_traffic: "hourly_traffic" };
  const packages = Object.entries(made).map(([folder, entity]) => ({
    producer: `package:${folder}`,
    file: `${folder}/dk.yaml`,
    entities: [entity],
    max_periods: 366,
  }));
  await ask("api/v2/entities", { files: [{ name: "entities.yaml", text }], packages });
  const produced = (entity, instances) => ({ entity, what: "produced", instances, ref: runId() });
  const answer = await ask("api/v2/instances", {
    reports: [
      produced("weather", ["2013-03-01T00-05:00..2013-03-19T05-04:00"]),
      produced("weather", ["2013-03-19T16-04:00..2013-03-31T23-04:00"]),
      produced("flights", ["2013-03-01..2013-03-18"]),
      produced("hourly_traffic", ["2013-03-02..2013-03-18"]),
    ],
  });
  const refused = answer.results.filter((result) => result.refused);
  if (refused.length) throw new Error(JSON.stringify(refused));
}

export async function seed(base) {
  await send(base, [...flights(), ...shop(), ...measures(), ...hostile(), ...grid(300), ...fan(60), ...clicks()]);
  await send(base, [...altered(), ...dag()]);
  await schedules(base);
}
