// The layout alone, in Node: its processor time at 1,000, 10,000 and 50,000 nodes, and its crossings beside ELK's on the same graphs:
// node benchmarks/page_layout.mjs [FOLDER WITH node_modules/elkjs] (after scripts/build-web).
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const web = createRequire(join(ROOT, "web/package.json"));
const { createServer } = await import(web.resolve("vite").replace(/index\.cjs$/, "dist/node/index.js"));
const server = await createServer({
  root: join(ROOT, "web"),
  server: { middlewareMode: true, hmr: false, watch: null },
  optimizeDeps: { noDiscovery: true },
  appType: "custom",
  logLevel: "error",
});
const { layOut } = await server.ssrLoadModule("/src/graph/layout.ts");

/** Datasets and jobs in turn; each job reads one to three of the datasets before it, the near ones more often. */
function lineage(size, seed) {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const source = [];
  const target = [];
  for (let job = 1; job + 1 < size; job += 2) {
    const before = (job + 1) / 2;
    const reads = 1 + (random() < 0.35 ? 1 : 0) + (random() < 0.1 ? 1 : 0);
    for (let i = 0; i < reads; i++) {
      source.push(2 * Math.max(before - 1 - Math.floor(random() ** 3 * Math.min(before, size / 8)), 0));
      target.push(job);
    }
    source.push(job);
    target.push(job + 1);
  }
  const fill = (value) => new Float64Array(size).fill(value);
  return {
    ids: Array.from({ length: size }, (_, i) => `n${String(i).padStart(6, "0")}`),
    width: fill(228),
    height: fill(50),
    anchor: fill(25),
    lowest: Int32Array.from({ length: size }, (_, i) => i % 2),
    source: Int32Array.from(source),
    target: Int32Array.from(target),
    layerGap: 60,
    nodeGap: 22,
    aspect: 0,
  };
}

/** Pairs of drawn edges that cross, by their segments between layers; both layouts are measured by this one. */
function crossings(lines) {
  const cross = (a, b, c, d) => (b[0] - a[0]) * (d[1] - c[1]) - (b[1] - a[1]) * (d[0] - c[0]) !== 0 && intersects(a, b, c, d);
  const segments = lines.flatMap((line) => line.slice(1).map((to, i) => [line[i], to]));
  segments.sort((a, b) => Math.min(a[0][0], a[1][0]) - Math.min(b[0][0], b[1][0]));
  let count = 0;
  for (let i = 0; i < segments.length; i++) {
    const [a, b] = segments[i];
    const right = Math.max(a[0], b[0]);
    for (let j = i + 1; j < segments.length && Math.min(segments[j][0][0], segments[j][1][0]) < right; j++)
      if (cross(a, b, ...segments[j])) count++;
  }
  return count;
}
function intersects(a, b, c, d) {
  const side = (p, q, r) => Math.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]));
  return side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
}

function linesOf(input, layout) {
  return Array.from(input.source, (s, e) => {
    const t = input.target[e];
    const line = [[layout.x[s] + input.width[s], layout.y[s] + 25]];
    for (let o = layout.bendStart[e]; o < layout.bendStart[e + 1]; o += 3)
      line.push([layout.bends[o], layout.bends[o + 2]], [layout.bends[o + 1], layout.bends[o + 2]]);
    line.push([layout.x[t], layout.y[t] + 25]);
    return line;
  });
}

const median = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
for (const [size, rounds] of [[1000, 15], [10_000, 5], [50_000, 3]]) {
  const input = lineage(size, 7);
  layOut(lineage(Math.min(size, 1000), 3));
  const times = Array.from({ length: rounds }, () => {
    const began = process.cpuUsage();
    layOut(input);
    return process.cpuUsage(began).user / 1000;
  });
  const few = layOut(lineage(size, 7));
  console.log(`${size} nodes, ${input.source.length} edges: median ${Math.round(median(times))} ms of processor time, ${few.crossings} crossings`);
  // What opening one node costs when all is placed.
  const held = new Uint8Array(size).fill(1).fill(0, size - 50);
  const placed = {
    x: few.x.map((x, i) => (held[i] ? x : Number.NaN)),
    y: few.y.map((y, i) => (held[i] ? y : Number.NaN)),
    held,
  };
  const began = process.cpuUsage();
  layOut({ ...input, placed });
  console.log(`  50 new nodes beside it: ${Math.round(process.cpuUsage(began).user / 1000)} ms`);
}

const [folder] = process.argv.slice(2);
if (folder) {
  const ELK = createRequire(join(folder, "package.json"))("elkjs");
  const elk = new ELK();
  for (const seed of [7, 11, 13]) {
    const input = lineage(1000, seed);
    let began = performance.now();
    const ours = crossings(linesOf(input, layOut(input)));
    const ourTime = performance.now() - began;
    began = performance.now();
    const drawn = await elk.layout({
      id: "root",
      layoutOptions: { "elk.algorithm": "layered", "elk.direction": "RIGHT", "elk.edgeRouting": "POLYLINE" },
      children: input.ids.map((id) => ({ id, width: 228, height: 50 })),
      edges: Array.from(input.source, (s, e) => ({
        id: `e${e}`,
        sources: [input.ids[s]],
        targets: [input.ids[input.target[e]]],
      })),
    });
    const elkTime = performance.now() - began;
    const theirs = crossings(
      drawn.edges.map(({ sections: [one] }) =>
        [one.startPoint, ...(one.bendPoints ?? []), one.endPoint].map(({ x, y }) => [x, y]),
      ),
    );
    console.log(
      `1000 nodes, seed ${seed}: ${ours} crossings in ${Math.round(ourTime)} ms (measuring included) · ELK ${theirs} in ${Math.round(elkTime)} ms · ratio ${(ours / theirs).toFixed(2)}`,
    );
  }
}
await server.close();
