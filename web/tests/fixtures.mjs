// The data the fixture server answers from: a catalog of four graphs. Generated from fixed seeds, so every run is alike.
import { column, dataset, job, NOW } from "./catalog.mjs";

export function catalog() {
  const c = { datasets: new Map(), jobs: new Map(), edges: [], columnEdges: [], runs: new Map(), now: NOW };
  flights(c);
  chain(c);
  large(c, 500);
  hostile(c);
  return c;
}

function flights(c) {
  const F = "file";
  const raw = dataset(
    c,
    F,
    "/data/raw/flights",
    [
      "year",
      "month",
      "day",
      "dep_time",
      "sched_dep_time",
      "dep_delay",
      "arr_time",
      "sched_arr_time",
      "arr_delay",
      "carrier",
      "flight",
      "tailnum",
      "origin",
      "dest",
      "air_time",
      "distance",
      "hour",
      "minute",
      "time_hour",
    ].map((n) => [n, /carrier|tail|origin|dest/.test(n) ? "string" : "int"]),
    { ago: 190, description: "Departures from New York City in 2013, as delivered." },
  );
  const weather = dataset(
    c,
    F,
    "/data/raw/weather",
    [
      ["origin"],
      ["time_hour", "timestamp"],
      ["temp", "double"],
      ["wind_speed", "double"],
      ["precip", "double"],
      ["visib", "double"],
    ],
    { ago: 185 },
  );
  const planes = dataset(
    c,
    "postgres://ops.internal:5432",
    "fleet.public.planes",
    [["tailnum"], ["year", "int"], ["manufacturer"], ["model"], ["seats", "int"]],
    { ago: 700, label: "fleet.public.planes" },
  );
  const carriers = dataset(c, F, "/data/raw/airlines", [["carrier"], ["name"]], { ago: 900 });
  const clean = dataset(
    c,
    F,
    "/data/clean/flights",
    [
      ["flight_id", "string"],
      ["carrier", "string", "IATA code of the airline"],
      ["tailnum", "string", null, ["pii"]],
      ["origin"],
      ["dest"],
      ["departed_at", "timestamp", "Actual departure, UTC"],
      ["dep_delay", "int"],
      ["arr_delay", "int"],
      ["distance", "double", "Kilometres"],
    ],
    {
      ago: 62,
      description: "One row per flight, times in UTC, distances in kilometres.",
      tags: ["gold", "pii"],
      owners: [{ name: "team:flight-data", type: "MAINTAINER" }],
      facets: {
        storage: { storageLayer: "delta", fileFormat: "parquet" },
        lifecycleStateChange: { lifecycleStateChange: "OVERWRITE" },
      },
    },
  );
  const hourly = dataset(
    c,
    F,
    "/data/clean/weather_hourly",
    [["origin"], ["hour", "timestamp"], ["wind_speed", "double"], ["visibility", "double"]],
    { ago: 70 },
  );
  const delays = dataset(
    c,
    "s3://analytics-lake",
    "marts/delay_by_carrier",
    [["carrier"], ["airline"], ["flights", "bigint"], ["mean_delay", "double"], ["windy_share", "double"]],
    { ago: 50, tags: ["published"] },
  );
  const fleet = dataset(
    c,
    "s3://analytics-lake",
    "marts/fleet_usage",
    [["tailnum", "string", null, ["pii"]], ["model"], ["flights", "bigint"], ["km_flown", "double"]],
    { ago: 48 },
  );
  const report = dataset(c, F, "/reports/delays.html", [], { ago: 30, label: "delays.html" });

  const pack = job(c, "flights", "clean-flights", [], [], {
    ago: 65,
    states: ["COMPLETED", "COMPLETED", "FAILED"],
    description: "Cleans a day of departures.",
  });
  const cleaning = job(c, "flights", "clean-flights.flights", [raw, carriers], [clean], {
    ago: 63,
    parent: pack,
    states: ["COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "COMPLETED"],
  });
  const hours = job(c, "flights", "clean-flights.weather_hourly", [weather], [hourly], {
    ago: 71,
    parent: pack,
    states: ["FAILED", "COMPLETED", "COMPLETED"],
  });
  const carrierMart = job(c, "flights", "delay-mart.delay_by_carrier", [clean, hourly, carriers], [delays], {
    ago: 51,
    tags: ["hourly"],
  });
  const fleetMart = job(c, "flights", "fleet-mart.fleet_usage", [clean, planes], [fleet], {
    ago: 0.5,
    states: ["RUNNING", "COMPLETED", "ABORTED"],
  });
  const reporting = job(c, "flights", "delay-report", [delays], [report], { ago: 31, declared: true });

  for (const [from, to] of [
    ["carrier", "carrier"],
    ["tailnum", "tailnum"],
    ["origin", "origin"],
    ["dest", "dest"],
    ["dep_delay", "dep_delay"],
    ["arr_delay", "arr_delay"],
    ["distance", "distance"],
    ["dep_time", "departed_at"],
    ["time_hour", "departed_at"],
    ["carrier", "flight_id"],
    ["flight", "flight_id"],
    ["time_hour", "flight_id"],
  ])
    column(c, raw, from, clean, to, cleaning, "DIRECT", from === to ? "IDENTITY" : "TRANSFORMATION");
  column(c, raw, "air_time", clean, null, cleaning, "INDIRECT", "FILTER");
  column(c, carriers, "carrier", clean, null, cleaning, "INDIRECT", "JOIN");
  for (const [from, to] of [
    ["origin", "origin"],
    ["time_hour", "hour"],
    ["wind_speed", "wind_speed"],
    ["visib", "visibility"],
  ])
    column(c, weather, from, hourly, to, hours);
  column(c, clean, "carrier", delays, "carrier", carrierMart);
  column(c, carriers, "name", delays, "airline", carrierMart);
  column(c, clean, "flight_id", delays, "flights", carrierMart, "DIRECT", "AGGREGATION");
  column(c, clean, "dep_delay", delays, "mean_delay", carrierMart, "DIRECT", "AGGREGATION");
  column(c, hourly, "wind_speed", delays, "windy_share", carrierMart, "DIRECT", "AGGREGATION");
  for (const f of ["origin", "departed_at"]) column(c, clean, f, delays, null, carrierMart, "INDIRECT", "JOIN");
  column(c, clean, "tailnum", fleet, "tailnum", fleetMart);
  column(c, planes, "model", fleet, "model", fleetMart);
  column(c, clean, "flight_id", fleet, "flights", fleetMart);
  column(c, clean, "distance", fleet, "km_flown", fleetMart);
  column(c, planes, "tailnum", fleet, null, fleetMart, "INDIRECT", "JOIN");
  for (const f of ["airline", "mean_delay"]) column(c, delays, f, reporting, null, reporting);

  const failed = [...c.runs.values()].find((run) => run.job === hours && run.state === "FAILED");
  failed.error =
    "AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `visibility` cannot be resolved.";
  failed.stack =
    'Traceback (most recent call last):\n  File "weather.py", line 31, in run\n    hourly = weather.select("visibility")\npyspark.errors.AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION]';
}

function chain(c) {
  const a = dataset(c, "kafka://broker:9092", "orders", [["order_id"], ["amount", "decimal(10,2)"]], { ago: 3000 });
  const b = dataset(c, "file", "/shop/orders", [["order_id"], ["amount", "decimal(10,2)"]], { ago: 3000 });
  const d = dataset(
    c,
    "file",
    "/shop/revenue",
    [
      ["day", "date"],
      ["revenue", "decimal(18,2)"],
    ],
    { ago: 3000 },
  );
  const land = job(c, "shop", "land-orders", [a], [b], { ago: 3000 });
  const sum = job(c, "shop", "revenue", [b], [d], { ago: 3000 });
  column(c, a, "order_id", b, "order_id", land);
  column(c, a, "amount", b, "amount", land);
  column(c, b, "amount", d, "revenue", sum, "DIRECT", "AGGREGATION");
}

/** `size` nodes all reachable from one dataset: a trunk of layers, each job reading a few tables of the layers before. */
function large(c, size) {
  let seed = 20130101;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  const fields = (k) =>
    Array.from({ length: 4 + (k % 17) }, (_, i) => [
      `column_${String(i).padStart(2, "0")}`,
      i % 3 ? "string" : "bigint",
    ]);
  const tables = [dataset(c, "s3://warehouse", "big/source", fields(3), { ago: 5000 })];
  let made = 1;
  for (let k = 1; made + 2 <= size; k++) {
    const recent = Math.max(0, tables.length - 28);
    const inputs = new Set([
      tables[
        k % 9 === 0 ? Math.floor(random() * tables.length) : recent + Math.floor(random() * (tables.length - recent))
      ],
    ]);
    while (random() < 0.36) inputs.add(tables[Math.floor(random() * tables.length)]);
    const table = dataset(
      c,
      "s3://warehouse",
      `big/layer_${Math.floor(k / 28)}/table_${String(k).padStart(3, "0")}`,
      fields(k),
      { ago: 5000 + k },
    );
    const via = job(c, "big", `load_table_${String(k).padStart(3, "0")}`, [...inputs], [table], {
      ago: 5000 + k,
      states: [k % 41 === 0 ? "FAILED" : "COMPLETED"],
    });
    for (const input of inputs)
      for (const name of ["column_00", "column_01", "column_02"].slice(0, 1 + (k % 3)))
        column(c, input, name, table, name, via);
    tables.push(table);
    made += 2;
  }
  if (made < size) job(c, "big", "check_source", [tables[0]], [], { ago: 5000 });
}

const SPACES = ["hostile", "<b>bold</b>://h:1/é", "file"];

export const HOSTILE = {
  /** The i-th dataset, or the job that reads it. */
  id: (type, i) => `${type}:${SPACES[(type === "job" ? i + 1 : i) % 3]}:${HOSTILE.names[i]}`,
  script: "<img src=x onerror=window.__pwned=1>",
  names: [
    "<img src=x onerror=window.__pwned=1>",
    "<script>window.__pwned=2</script>",
    "'; DROP TABLE dataset; --",
    'quote " and \\ back / slash : colon ?a=b&c=d#e %2F%3A',
    "../../../etc/passwd",
    "🦩🪿 naïve 数据 \u202Edesrever\u202C",
    `${"very_long_".repeat(99)}the_end!!!`,
    "line\nbreak\ttab",
    "javascript:window.__pwned=3",
    "$" + "{window.__pwned=4} {{constructor}}",
  ],
};

function hostile(c) {
  const all = HOSTILE.names.map((name, i) =>
    dataset(
      c,
      SPACES[i % 3],
      name,
      HOSTILE.names.slice(0, 5).map((f) => [f, "<i>type</i>"]),
      { ago: 9000 + i, label: name, description: `<svg onload=window.__pwned=5> ${name}`, tags: ["<u>tag</u>"] },
    ),
  );
  HOSTILE.names.forEach((name, i) => {
    const target = all[(i + 1) % all.length];
    const via = job(c, SPACES[(i + 1) % 3], name, [all[i]], [target], {
      ago: 9000 + i,
      states: ["FAILED"],
      error: name,
      label: name,
    });
    column(c, all[i], HOSTILE.names[0], target, HOSTILE.names[2], via);
  });
}
