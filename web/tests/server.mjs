// A stand-in for the server: the built page, and docs/reference/api-v2.md answered from fixtures.
// `node tests/server.mjs [port]`; the tests call serve() and may switch it off to see what the page does.
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { catalog } from "./fixtures.mjs";

const STATIC = join(dirname(fileURLToPath(import.meta.url)), "../../src/headwater/api/static");
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

export async function serve(port = 0) {
  const c = catalog();
  const control = { down: false };
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    // Also under a sub-path, as behind a proxy.
    const path = url.pathname.replace(/^\/sub\//, "/");
    if (path.startsWith("/api/v2/")) {
      if (control.down) return request.socket.destroy();
      const answer = reply(c, path.slice("/api/v2/".length), url.searchParams);
      response.writeHead(answer.status ?? 200, { "content-type": "application/json" });
      return response.end(JSON.stringify(answer));
    }
    const file = normalize(join(STATIC, path === "/" ? "index.html" : path));
    if (!file.startsWith(STATIC) || !existsSync(file)) {
      response.writeHead(404);
      return response.end();
    }
    response.writeHead(200, {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:",
    });
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    control,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

const missing = (message) => ({ code: "not_found", status: 404, message, detail: {} });

function reply(c, path, query) {
  const [kind, ...rest] = path.split("/").map(decodeURIComponent);
  if (kind === "status")
    return {
      version: "0.1.0",
      started_at: new Date(c.now - 8e6).toISOString(),
      database: { ok: true, version: "18.6", size_bytes: 48_300_000 },
      events: { total: 18_412, last_received_at: new Date(c.now - 41_000).toISOString() },
      counts: { datasets: c.datasets.size, jobs: c.jobs.size, runs: c.runs.size },
    };
  if (kind === "lineage") return lineage(c, query);
  if (kind === "search") return search(c, query);
  const page = (all) => all.slice(Number(query.get("offset") ?? 0)).slice(0, Number(query.get("limit") ?? 100));
  if (kind === "datasets" && rest.length === 0) {
    const all = [...c.datasets.values()].sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1));
    return { total: all.length, datasets: page(all).map(summary) };
  }
  if (kind === "jobs" && rest.length === 0) {
    const all = [...c.jobs.values()].sort((a, b) => (a.runs[0]?.started_at < b.runs[0]?.started_at ? 1 : -1));
    return { total: all.length, jobs: page(all).map(summary) };
  }
  if (kind === "datasets") {
    const found = c.datasets.get(`dataset:${rest[0]}:${rest[1]}`);
    if (!found || rest.length !== 2) return missing(`no dataset ${rest.join(" ")}`);
    return {
      ...found,
      producers: c.edges.filter((e) => e.target === found.id).map((e) => e.source),
      consumers: c.edges.filter((e) => e.source === found.id).map((e) => e.target),
    };
  }
  if (kind === "jobs") return c.jobs.get(`job:${rest[0]}:${rest[1]}`) ?? missing(`no job ${rest.join(" ")}`);
  if (kind === "runs" && rest.length === 1) return run(c, rest[0]);
  return missing(`no such question: ${path}`);
}

function summary(node) {
  const { id, type, namespace, name, label, description, tags } = node;
  const shared = { id, type, namespace, name, label, description, tags };
  if (type === "DATASET")
    return { ...shared, fields: node.fields, updated_at: node.updated_at, version_count: node.versions.length };
  const last = node.runs[0];
  return {
    ...shared,
    parent: node.parent,
    last_run: last && {
      id: last.id,
      state: last.effective_state,
      started_at: last.started_at,
      ended_at: last.ended_at,
      duration_ms: last.duration_ms,
    },
  };
}

function lineage(c, query) {
  const root = query.get("node");
  const depth = Number(query.get("depth") ?? 3);
  const direction = query.get("direction") ?? "both";
  const node = (id) => c.datasets.get(id) ?? c.jobs.get(id);
  if (!node(root)) return missing(`no node ${root}`);
  // Distance in edges; a dataset hop is two of them, and a job belongs to the hop of its far side.
  const distance = new Map([[root, 0]]);
  const walk = (near, far, sign) => {
    let border = [root];
    const start = c.jobs.has(root) ? 1 : 0;
    for (let step = 1; step <= 2 * depth - start && border.length; step++) {
      const next = [];
      for (const edge of c.edges)
        if (border.includes(edge[near]) && !distance.has(edge[far])) {
          distance.set(edge[far], sign * step);
          next.push(edge[far]);
        }
      border = next;
    }
  };
  if (direction !== "upstream") walk("source", "target", 1);
  if (direction !== "downstream") walk("target", "source", -1);
  const hidden = (id, near, far) => c.edges.filter((e) => e[near] === id && !distance.has(e[far])).length;
  const within = (e) => distance.has(e.source) && distance.has(e.target);
  return {
    root,
    direction,
    depth,
    as_of: query.get("as_of") ?? new Date(c.now).toISOString(),
    nodes: [...distance].map(([id, d]) => ({
      ...summary(node(id)),
      hop: Math.sign(d) * Math.ceil(Math.abs(d) / 2),
      hidden_upstream: hidden(id, "target", "source"),
      hidden_downstream: hidden(id, "source", "target"),
    })),
    edges: c.edges.filter(within),
    column_edges: query.get("columns") === "true" ? c.columnEdges.filter(within) : [],
    hidden: { nodes: 0, reason: null },
  };
}

function search(c, query) {
  const q = (query.get("q") ?? "").toLowerCase();
  const results = [];
  for (const node of [...c.datasets.values(), ...c.jobs.values()]) {
    const field = node.fields?.find((f) => f.name.toLowerCase().includes(q));
    const matched = node.name.toLowerCase().includes(q)
      ? "name"
      : field
        ? "column"
        : node.description?.toLowerCase().includes(q)
          ? "description"
          : null;
    if (!matched) continue;
    const { id, type, namespace, name, label } = node;
    results.push({
      id,
      type,
      namespace,
      name,
      label,
      matched,
      detail: matched === "name" ? name : matched === "column" ? field.name : node.description,
    });
  }
  const order = ["name", "column", "description"];
  results.sort((a, b) => order.indexOf(a.matched) - order.indexOf(b.matched));
  return { total: results.length, results: results.slice(0, Number(query.get("limit") ?? 20)) };
}

function run(c, id) {
  const found = c.runs.get(id);
  if (!found) return missing(`no run ${id}`);
  const { stack, ...shown } = found;
  const of = c.jobs.get(found.job);
  const writer = (dataset) => {
    const version = c.datasets.get(dataset).versions[0];
    return version ? { run_id: version.run_id, job: version.job } : null;
  };
  return {
    ...shown,
    facets: {
      nominalTime: { nominalStartTime: found.nominal_start },
      ...(found.error
        ? { errorMessage: { message: found.error, programmingLanguage: "python", stackTrace: stack ?? null } }
        : {}),
    },
    job_facets: of.facets,
    inputs: of.inputs.map((dataset) => ({
      dataset,
      version_id: `v-${dataset.length}`,
      external_version: null,
      written_by: writer(dataset),
      facets: {},
    })),
    outputs: of.outputs.map((dataset) => ({
      dataset,
      version_id: `v-${id}`,
      external_version: "41",
      rows: 336_776,
      bytes: 29_000_000,
      files: 8,
      facets: { outputStatistics: { rowCount: 336_776 } },
    })),
    children: [...c.runs.values()].filter((other) => other.parent?.run_id === id),
    parameters: { day: "2013-01-01", limit: "all", mode: "overwrite" },
    code: { version: "3f9c1d2ab4e5", url: "https://git.example.org/flights.git", dirty: false },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!existsSync(join(STATIC, "index.html"))) throw new Error("the page is not built: npm run build");
  const { url } = await serve(Number(process.argv[2] ?? 5055));
  console.log(url);
}
