import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Layout, type LayoutInput, layOut } from "./layout.ts";

interface Sketch {
  nodes: { width: number; height: number; job: boolean }[];
  edges: [number, number][];
  aspect?: number;
}

const sketch: fc.Arbitrary<Sketch> = fc.integer({ min: 1, max: 70 }).chain((n) =>
  fc.record({
    nodes: fc.array(
      fc.record({
        width: fc.integer({ min: 20, max: 260 }),
        height: fc.integer({ min: 20, max: 400 }),
        job: fc.boolean(),
      }),
      { minLength: n, maxLength: n },
    ),
    edges: fc.array(fc.tuple(fc.nat(n - 1), fc.nat(n - 1)), { maxLength: 90, size: "max" }),
    aspect: fc.constantFrom(0, 0.6, 1.8),
  }),
);

function inputOf({ nodes, edges, aspect = 0 }: Sketch, order = nodes.map((_, i) => i)): LayoutInput {
  const position = new Map(order.map((original, i) => [original, i]));
  return {
    ids: order.map((i) => `n${i}`),
    width: Float64Array.from(order, (i) => nodes[i].width),
    height: Float64Array.from(order, (i) => nodes[i].height),
    anchor: new Float64Array(nodes.length).fill(10),
    lowest: Int32Array.from(order, (i) => (nodes[i].job ? 1 : 0)),
    source: Int32Array.from(edges, ([s]) => position.get(s)!),
    target: Int32Array.from(edges, ([, t]) => position.get(t)!),
    layerGap: 60,
    nodeGap: 20,
    aspect,
  };
}

function overlaps(input: LayoutInput, { x, y }: Layout, gap: number): string[] {
  const found: string[] = [];
  for (let a = 0; a < x.length; a++)
    for (let b = 0; b < a; b++) {
      const apartX = x[a] + input.width[a] <= x[b] + 1e-6 || x[b] + input.width[b] <= x[a] + 1e-6;
      const apartY = y[a] + input.height[a] + gap <= y[b] + 1e-6 || y[b] + input.height[b] + gap <= y[a] + 1e-6;
      if (!apartX && !apartY) found.push(`${a} ${b}`);
    }
  return found;
}

describe("layOut", () => {
  test("no two nodes overlap, and the gap between them is kept", () => {
    fc.assert(
      fc.property(sketch, (s) => {
        const input = inputOf(s);
        expect(overlaps(input, layOut(input), 20)).toEqual([]);
      }),
    );
  });

  test("an edge runs left to right unless it closes a cycle", () => {
    fc.assert(
      fc.property(sketch, (s) => {
        const input = inputOf(s);
        const { x, y, reversed, layer, rows } = layOut(input);
        s.edges.forEach(([from, to], e) => {
          if (from === to) return;
          const [left, right] = reversed[e] ? [to, from] : [from, to];
          expect(layer[left]).toBeLessThan(layer[right]);
          // Or, of a chain in rows, to a row below.
          if (rows > 1 && x[left] + input.width[left] + 60 > x[right] + 1e-6)
            expect(y[left] + input.height[left]).toBeLessThan(y[right]);
          else expect(x[left] + input.width[left] + 60).toBeLessThanOrEqual(x[right] + 1e-6);
        });
      }),
    );
  });

  test("a strip of long layers takes the shape of the canvas", () => {
    const card = { width: 228, height: 50, job: false };
    const nodes = Array.from({ length: 500 }, () => card);
    const edges = nodes.flatMap((_, i): [number, number][] =>
      i < 400 ? [[i, 100 * Math.floor(i / 100 + 1) + ((i * 7) % 100)]] : [],
    );
    const strip = layOut(inputOf({ nodes, edges }));
    expect(strip.width / strip.height).toBeLessThan(0.3);
    const { width, height } = layOut(inputOf({ nodes, edges, aspect: 1.6 }));
    expect(width / height).toBeGreaterThan(1.3);
    expect(width / height).toBeLessThan(2);
  });

  /** The share of the canvas that a drawing covers when the whole is fitted into it, and the zoom then. */
  const fitted = (layout: Layout, canvas = { width: 1200, height: 700 }) => {
    const k = Math.min(canvas.width / layout.width, canvas.height / layout.height, 1);
    return { k, used: (layout.width * layout.height * k * k) / (canvas.width * canvas.height) };
  };
  const pipeline = (layers: number, wide: number): Sketch => {
    const at = (l: number, i: number) => l * wide + (i % wide);
    return {
      nodes: Array.from({ length: layers * wide }, (_, v) => ({
        width: Math.floor(v / wide) % 2 ? 204 : 228,
        height: 50,
        job: Math.floor(v / wide) % 2 === 1,
      })),
      edges: Array.from({ length: layers - 1 }, (_, l) =>
        Array.from({ length: wide }, (_, i): [number, number][] => [
          [at(l, i), at(l + 1, i)],
          ...(i % 3 === 0 ? [[at(l, i), at(l + 1, i + 1)] as [number, number]] : []),
        ]),
      ).flat(2),
    };
  };

  test.each([
    [62, 1, 4],
    [62, 3, 2.2],
    [200, 1, 8],
    [120, 4, 2.2],
  ])("a chain of %i layers, %i wide, fills the canvas in rows", (layers, wide, larger) => {
    const sketch = pipeline(layers, wide);
    const thread = layOut(inputOf(sketch));
    const rowed = layOut(inputOf({ ...sketch, aspect: 1200 / 700 }));
    expect(fitted(thread).used).toBeLessThan(0.2);
    expect(rowed.rows).toBeGreaterThan(2);
    expect(fitted(rowed).used).toBeGreaterThan(0.6);
    expect(fitted(rowed).k).toBeGreaterThan(larger * fitted(thread).k);
    expect(overlaps(inputOf(sketch), rowed, 20)).toEqual([]);
  });

  test("rows are cut where few edges pass, and each turns back below its row and above the next", () => {
    // Ten chains side by side that are one for two layers of every seven.
    const nodes: Sketch["nodes"] = [];
    const edges: [number, number][] = [];
    let before: number[] = [];
    for (let l = 0; l < 70; l++) {
      const now = Array.from(
        { length: l % 7 >= 5 ? 1 : 10 },
        () => nodes.push({ width: 220, height: 50, job: false }) - 1,
      );
      for (const [i, v] of (before.length > now.length ? before : now).entries())
        edges.push(before.length > now.length ? [v, now[0]] : [before[i] ?? before[0] ?? v, v]);
      before = now;
    }
    const input = inputOf({ nodes, edges: edges.filter(([a, b]) => a !== b), aspect: 1.7 });
    const { rows, bendStart, bends, y, x } = layOut(input);
    expect(rows).toBeGreaterThan(1);
    let turning = 0;
    for (let e = 0; e < input.source.length; e++)
      for (let o = bendStart[e]; o < bendStart[e + 1]; o += 3)
        if (bends[o] > bends[o + 1]) {
          turning++;
          for (let v = 0; v < x.length; v++)
            expect(bends[o + 2] < y[v] || bends[o + 2] > y[v] + input.height[v], `lane ${bends[o + 2]}`).toBe(true);
        }
    // Where it is one chain a row ends, if it can.
    expect(turning).toBeLessThanOrEqual(10 * (rows - 1));
    expect(turning / (rows - 1)).toBeLessThan(6);
  });

  test("without cycles no edge is reversed", () => {
    fc.assert(
      fc.property(sketch, (s) => {
        const acyclic = { ...s, edges: s.edges.filter(([a, b]) => a < b) };
        expect([...layOut(inputOf(acyclic)).reversed].filter(Boolean)).toEqual([]);
      }),
    );
  });

  test("the order in which nodes and edges come does not matter", () => {
    const shuffled = sketch.chain((s) =>
      fc.tuple(
        fc.constant(s),
        fc.shuffledSubarray(
          s.nodes.map((_, i) => i),
          { minLength: s.nodes.length },
        ),
        fc.shuffledSubarray(s.edges, { minLength: s.edges.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([s, order, edges]) => {
        const one = layOut(inputOf(s));
        const other = layOut(inputOf({ ...s, edges }, order));
        order.forEach((original, i) => {
          expect(other.x[i]).toBe(one.x[original]);
          expect(other.y[i]).toBe(one.y[original]);
        });
      }),
    );
  });

  test("a long edge bends once in each layer it passes, clear of the nodes there", () => {
    fc.assert(
      fc.property(sketch, (s) => {
        const input = inputOf(s);
        const { x, y, layer, bendStart, bends, rows } = layOut(input);
        s.edges.forEach(([from, to], e) => {
          const passed = from === to ? 0 : Math.abs(layer[from] - layer[to]) - 1;
          const turns = [...bends.subarray(bendStart[e], bendStart[e + 1])].filter(
            (left, o, all) => o % 3 === 0 && left > all[o + 1],
          ).length;
          expect((bendStart[e + 1] - bendStart[e]) / 3 - turns).toBe(passed);
          if (rows === 1) expect(turns).toBe(0);
          for (let o = bendStart[e]; o < bendStart[e + 1]; o += 3)
            for (let v = 0; v < x.length; v++) {
              const [left, right] = [Math.min(bends[o], bends[o + 1]), Math.max(bends[o], bends[o + 1])];
              if (x[v] + input.width[v] <= left || x[v] >= right) continue;
              const inside = bends[o + 2] > y[v] + 1e-6 && bends[o + 2] < y[v] + input.height[v] - 1e-6;
              expect(inside).toBe(false);
            }
        });
      }),
    );
  });

  test("a chain lies on one line and nothing crosses", () => {
    const chain: Sketch = {
      nodes: Array.from({ length: 7 }, (_, i) => ({ width: 100, height: 50, job: i % 2 === 1 })),
      edges: [0, 1, 2, 3, 4, 5].map((i) => [i, i + 1]),
    };
    const layout = layOut(inputOf(chain));
    expect(new Set(layout.y).size).toBe(1);
    expect(layout.crossings).toBe(0);
    expect([...layout.layer]).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  test("a tree has no crossings", () => {
    const nodes = Array.from({ length: 31 }, () => ({ width: 100, height: 40, job: false }));
    const edges = nodes.slice(1).map((_, i): [number, number] => [Math.floor(i / 2), i + 1]);
    expect(layOut(inputOf({ nodes, edges })).crossings).toBe(0);
  });

  test("a source read only far to the right stands next to its reader", () => {
    const nodes = Array.from({ length: 6 }, () => ({ width: 100, height: 40, job: false }));
    const layout = layOut(
      inputOf({
        nodes,
        edges: [
          [0, 1],
          [1, 2],
          [2, 3],
          [3, 4],
          [5, 4],
        ],
      }),
    );
    expect(layout.layer[5]).toBe(3);
  });

  test("nothing is laid out as nothing", () => {
    const layout = layOut(inputOf({ nodes: [], edges: [] }));
    expect([layout.width, layout.height]).toEqual([0, 0]);
  });
});
