// What the pages are clicked through with: OpenLineage events of the last minutes, posted one by one, in namespaces whose names need encoding,
// new ones each time, so that the script can run again against the same server.
import { randomUUID } from "node:crypto";

const NEW = Date.now().toString(36);
export const JOBS = `click/${NEW}`;
export const LAKE = `s3://click-${NEW}`;
export const WAREHOUSE = `postgres://click-${NEW}:5432`;

const PRODUCER = "https://headwater.example/click";
const facet = (kind, fields) => ({
  _producer: PRODUCER,
  _schemaURL: `https://openlineage.io/spec/facets/1-0-0/${kind}.json`,
  ...fields,
});
const columns = (...names) =>
  facet("SchemaDatasetFacet", {
    fields: names.map((name) => ({ name, type: "VARCHAR", description: `The ${name} of it` })),
  });
const dataset = (namespace, name, facets = {}) => ({ namespace, name, facets });
const from = (namespace, name, field) => ({ namespace, name, field });

const ORDERS = dataset(LAKE, "raw/orders", { schema: columns("id", "customer_id", "amount") });
const CUSTOMERS = dataset(WAREHOUSE, "public.customers", { schema: columns("id", "email") });
const MART = dataset(WAREHOUSE, "marts.orders", {
  schema: columns("order_id", "email", "amount"),
  documentation: facet("DocumentationDatasetFacet", { description: "One row for each order." }),
  columnLineage: facet("ColumnLineageDatasetFacet", {
    fields: {
      order_id: {
        inputFields: [from(LAKE, "raw/orders", "id")],
        transformationType: "IDENTITY",
        transformationDescription: "as it is",
      },
      email: { inputFields: [from(WAREHOUSE, "public.customers", "email")] },
      amount: { inputFields: [from(LAKE, "raw/orders", "amount")] },
    },
  }),
  dataQualityAssertions: facet("DataQualityAssertionsDatasetFacet", {
    assertions: [
      { assertion: "not_null", success: true, column: "order_id" },
      { assertion: "unique", success: false, column: "email" },
    ],
  }),
});
const REPORT = dataset(WAREHOUSE, "marts.report", {
  schema: columns("email", "total"),
  columnLineage: facet("ColumnLineageDatasetFacet", {
    fields: {
      email: { inputFields: [from(WAREHOUSE, "marts.orders", "email")] },
      total: { inputFields: [from(WAREHOUSE, "marts.orders", "amount")] },
    },
  }),
});

const SQL = facet("SQLJobFacet", { query: "insert into marts.orders select * from orders join customers using (id)" });

/** A run's events: it began `secondsAgo` and took a second and a half, or goes on when `end` is empty. */
function run(job, end, secondsAgo, inputs, outputs, jobFacets = {}) {
  const runId = randomUUID();
  const at = (ago) => new Date(Date.now() - ago * 1000).toISOString();
  const event = (eventType, ago, ins, outs) => ({
    eventType,
    eventTime: at(ago),
    producer: PRODUCER,
    schemaURL: "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    run: {
      runId,
      facets: {
        nominalTime: facet("NominalTimeRunFacet", { nominalStartTime: at(3600), nominalEndTime: at(0) }),
        processing_engine: facet("ProcessingEngineRunFacet", { name: "spark", version: "4.0.0" }),
      },
    },
    job: {
      namespace: JOBS,
      name: job,
      facets: {
        documentation: facet("DocumentationJobFacet", { description: `Makes what ${job} makes.` }),
        sourceCodeLocation: facet("SourceCodeLocationJobFacet", { type: "git", url: `https://git.example/${job}.sql` }),
        ...jobFacets,
      },
    },
    inputs: ins,
    outputs: outs,
  });
  const start = event("START", secondsAgo, inputs, outputs);
  return end ? [start, event(end, secondsAgo - 1.5, inputs, outputs)] : [start];
}

export function events() {
  const found = [];
  for (let n = 0; n < 24; n++) {
    const name = `many.job_${String(n).padStart(2, "0")}`;
    found.push(
      ...run(
        name,
        "COMPLETE",
        100,
        [ORDERS],
        [dataset(WAREHOUSE, name.replace("job", "table"), { schema: columns("a") })],
      ),
    );
  }
  for (let n = 12; n > 0; n--) found.push(...run("orders.report", "COMPLETE", 40 + 2 * n, [MART], [REPORT]));
  found.push(...run("orders.clean", "COMPLETE", 35, [ORDERS, CUSTOMERS], [MART], { sql: SQL }));
  found.push(...run("orders.failing", "FAIL", 30, [MART], []));
  found.push(...run("orders.aborted", "ABORT", 25, [MART], []));
  found.push(...run("orders.running", "", 20, [MART], []));
  found.push(
    ...run(
      "gone.job",
      "COMPLETE",
      15,
      [dataset(LAKE, "gone/input")],
      [dataset(LAKE, "gone/table", { schema: columns("a") })],
    ),
  );
  return found;
}

export async function seed(api) {
  const all = events();
  for (const event of all) {
    const reply = await fetch(`${api}/api/v1/lineage`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(event),
    });
    if (reply.status !== 201) throw new Error(`POST /api/v1/lineage answered ${reply.status}: ${await reply.text()}`);
  }
  return all.length;
}
