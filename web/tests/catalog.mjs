// Builders of fixture datasets, jobs with runs, and column edges, in the shapes of docs/reference/api-v2.md.

export const NOW = Date.now();
const at = (minutesAgo) => new Date(NOW - minutesAgo * 60_000).toISOString().replace(/\.\d+Z$/, "Z");

let serial = 0;
const runId = () => `01990000-0000-7000-8000-${String(++serial).padStart(12, "0")}`;

export function dataset(c, namespace, name, fields, extra = {}) {
  const id = `dataset:${namespace}:${name}`;
  c.datasets.set(id, {
    id,
    type: "DATASET",
    namespace,
    name,
    label: extra.label ?? (name.split("/").filter(Boolean).at(-1) || name),
    description: extra.description ?? null,
    tags: extra.tags ?? [],
    owners: extra.owners ?? [],
    fields: fields.map((f) => {
      const [field, type, description, tags] = Array.isArray(f) ? f : [f];
      return { name: field, type: type ?? "string", description: description ?? null, tags: tags ?? [] };
    }),
    updated_at: at(extra.ago ?? 60 + c.datasets.size),
    first_seen: at(60 * 24 * 40),
    versions: [],
    facets: {
      schema: {
        _producer: "https://headwater.dev/client/0.1",
        fields: fields.map((f) => ({ name: Array.isArray(f) ? f[0] : f })),
      },
      ...extra.facets,
    },
  });
  return id;
}

export function job(c, namespace, name, inputs, outputs, extra = {}) {
  const id = `job:${namespace}:${name}`;
  const states = extra.states ?? ["COMPLETED", "COMPLETED", "COMPLETED"];
  const runs = states.map((state, k) => {
    const started = (extra.ago ?? 60) + k * 1440;
    const took = state === "RUNNING" ? null : Math.round(4000 + ((c.jobs.size * 7919 + k * 3571) % 90) * 1000);
    return {
      id: runId(),
      job: id,
      state,
      effective_state: state,
      started_at: at(started),
      ended_at: took === null ? null : new Date(Date.parse(at(started)) + took).toISOString(),
      duration_ms: took,
      nominal_start: at(started + 1440),
      nominal_end: at(started),
      parent: null,
      error:
        state === "FAILED"
          ? (extra.error ?? "AnalysisException: [PATH_NOT_FOUND] Path does not exist: /data/raw/weather")
          : null,
    };
  });
  for (const run of runs) c.runs.set(run.id, run);
  c.jobs.set(id, {
    id,
    type: "JOB",
    namespace,
    name,
    label: extra.label ?? name,
    parent: extra.parent ?? null,
    children: [],
    description: extra.description ?? null,
    tags: extra.tags ?? [],
    owners: extra.owners ?? [],
    first_seen: at(60 * 24 * 40),
    inputs,
    outputs,
    facets: extra.facets ?? { jobType: { processingType: "BATCH", integration: "SPARK", jobType: "QUERY" } },
    runs,
  });
  const seen = { first_seen: at(60 * 24 * 40), last_seen: at(60) };
  const origin = extra.declared ? "DECLARED" : "OBSERVED";
  for (const input of inputs) c.edges.push({ source: input, target: id, origin, ...seen });
  for (const output of outputs) {
    c.edges.push({ source: id, target: output, origin, ...seen });
    const written = c.datasets.get(output);
    runs.forEach((run, k) => {
      if (run.state !== "COMPLETED") return;
      written.versions.push({
        id: `v-${run.id}`,
        created_at: run.ended_at,
        run_id: run.id,
        job: id,
        external_version: k % 2 ? String(40 - k) : null,
        lifecycle: k % 2 ? null : "OVERWRITE",
        rows: 336_776 - k * 1200,
        bytes: 29_000_000 - k * 90_000,
        files: 8,
        fields: written.fields,
        schema_changed: k === 1,
      });
    });
  }
  if (extra.parent) {
    c.jobs.get(extra.parent).children.push(id);
    runs.forEach((run, k) => {
      const above = c.jobs.get(extra.parent).runs[k];
      if (!above) return;
      run.parent = { run_id: above.id, job: extra.parent };
      if (run.state === "FAILED") above.effective_state = "FAILED";
    });
  }
  return id;
}

export function column(c, source, sourceField, target, targetField, via, type = "DIRECT", subtype = "TRANSFORMATION") {
  c.columnEdges.push({
    source,
    source_field: sourceField,
    target,
    target_field: targetField,
    job: via,
    origin: "COLUMN_LINEAGE",
    transformations: [{ type, subtype, masking: false, description: null }],
  });
}
