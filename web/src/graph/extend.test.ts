import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Layout, type LayoutInput, layOut } from "./layout.ts";

interface Sketch {
  sizes: { width: number; height: number }[];
  edges: [number, number][];
  /** Which nodes are shown before and after. */
  before: boolean[];
  after: boolean[];
}

const sketch: fc.Arbitrary<Sketch> = fc.integer({ min: 2, max: 40 }).chain((n) =>
  fc.record({
    sizes: fc.array(fc.record({ width: fc.constantFrom(204, 228, 60), height: fc.integer({ min: 50, max: 300 }) }), {
      minLength: n,
      maxLength: n,
    }),
    edges: fc.array(fc.tuple(fc.nat(n - 1), fc.nat(n - 1)), { maxLength: 60, size: "max" }),
    before: fc.array(fc.boolean(), { minLength: n, maxLength: n }),
    after: fc.array(fc.boolean(), { minLength: n, maxLength: n }),
  }),
);

function inputOf({ sizes, edges }: Sketch, shown: readonly number[]): LayoutInput {
  const position = new Map(shown.map((v, i) => [v, i]));
  const drawn = edges.filter(([s, t]) => position.has(s) && position.has(t));
  return {
    ids: shown.map((v) => `n${v}`),
    width: Float64Array.from(shown, (v) => sizes[v].width),
    height: Float64Array.from(shown, (v) => sizes[v].height),
    anchor: new Float64Array(shown.length).fill(25),
    lowest: new Int32Array(shown.length),
    source: Int32Array.from(drawn, ([s]) => position.get(s)!),
    target: Int32Array.from(drawn, ([, t]) => position.get(t)!),
    layerGap: 60,
    nodeGap: 22,
    aspect: 0,
  };
}

const chosen = (which: readonly boolean[]) => which.flatMap((yes, v) => (yes ? [v] : []));

/** The drawing of `shown` when those of `places` stand where they do; `held` must stay there. */
function extended(s: Sketch, shown: number[], places: Map<number, [number, number]>, held: ReadonlySet<number>) {
  const input = inputOf(s, shown);
  const placed = {
    x: Float64Array.from(shown, (v) => places.get(v)?.[0] ?? Number.NaN),
    y: Float64Array.from(shown, (v) => places.get(v)?.[1] ?? Number.NaN),
    held: Uint8Array.from(shown, (v) => Number(held.has(v))),
    rows: 1,
  };
  return { input, layout: layOut({ ...input, placed }) };
}

const placesOf = (shown: readonly number[], { x, y }: Layout) =>
  new Map(shown.map((v, i): [number, [number, number]] => [v, [x[i], y[i]]]));

function step(s: Sketch) {
  const first = chosen(s.before);
  const then = chosen(s.after);
  const before = layOut(inputOf(s, first));
  const places = placesOf(first, before);
  const held = new Set(first.filter((v) => s.after[v]));
  return { first, then, before, places, held, ...extended(s, then, places, held) };
}

describe("a drawing that grows and shrinks", () => {
  test("what is placed does not move", () => {
    fc.assert(
      fc.property(sketch, (s) => {
        const { then, places, held, layout } = step(s);
        const moves = then.flatMap((v, i) =>
          held.has(v) ? [[layout.x[i] - places.get(v)![0], layout.y[i] - places.get(v)![1]]] : [],
        );
        for (const [dx, dy] of moves) {
          expect(dx).toBeCloseTo(moves[0][0], 6);
          expect(dy).toBeCloseTo(moves[0][1], 6);
        }
      }),
    );
  });

  test("no two nodes overlap, and those above each other keep their gap", () => {
    fc.assert(
      fc.property(sketch, (s) => {
        const { input, layout } = step(s);
        for (let a = 0; a < input.ids.length; a++)
          for (let b = 0; b < a; b++) {
            const beside =
              layout.x[a] + input.width[a] <= layout.x[b] + 1e-6 || layout.x[b] + input.width[b] <= layout.x[a] + 1e-6;
            const apart =
              layout.y[a] + input.height[a] + 22 <= layout.y[b] + 1e-3 ||
              layout.y[b] + input.height[b] + 22 <= layout.y[a] + 1e-3;
            expect(beside || apart, `${a} ${b}`).toBe(true);
          }
      }),
    );
  });

  test("a new node stands right of all that feeds it, unless its edges close a cycle through what is placed", () => {
    fc.assert(
      fc.property(sketch, (whole) => {
        // Only new nodes downstream of what is placed: all their edges can point right.
        const s = {
          ...whole,
          edges: whole.edges.map(([a, b]): [number, number] => [Math.min(a, b), Math.max(a, b)]),
          before: whole.before.map((_, v) => v < whole.before.length / 2),
          after: whole.after.map(() => true),
        };
        const { layout, input } = step(s);
        for (let e = 0; e < input.source.length; e++) {
          const [from, to] = [input.source[e], input.target[e]];
          if (from === to || to < s.before.length / 2) continue;
          if (from >= s.before.length / 2) continue;
          expect(layout.x[from] + input.width[from]).toBeLessThanOrEqual(layout.x[to] + 1e-6);
        }
      }),
    );
  });

  test("an edge keeps clear of the cards between its ends", () => {
    fc.assert(
      fc.property(sketch, (s) => {
        const { input, layout } = step(s);
        for (let o = 0; o < layout.bends.length; o += 3)
          for (let v = 0; v < input.ids.length; v++) {
            if (layout.x[v] + input.width[v] <= layout.bends[o] || layout.x[v] >= layout.bends[o + 1]) continue;
            const at = layout.bends[o + 2];
            expect(at > layout.y[v] + 1e-6 && at < layout.y[v] + input.height[v] - 1e-6).toBe(false);
          }
      }),
    );
  });

  test("what is folded away and comes again stands where it stood", () => {
    fc.assert(
      fc.property(sketch, (s) => {
        const first = chosen(s.before);
        const places = placesOf(first, layOut(inputOf(s, first)));
        const kept = first.filter((v) => s.after[v]);
        if (kept.length === 0) return;
        const { layout } = extended(s, kept, places, new Set(kept));
        const [dx, dy] = [layout.x[0] - places.get(kept[0])![0], layout.y[0] - places.get(kept[0])![1]];
        const remembered = new Map(
          [...places].map(([v, [px, py]]): [number, [number, number]] => [v, [px + dx, py + dy]]),
        );
        const back = extended(s, first, remembered, new Set(kept)).layout;
        first.forEach((v, i) => {
          expect(back.x[i] - back.x[0]).toBeCloseTo(places.get(v)![0] - places.get(first[0])![0], 6);
          expect(back.y[i] - back.y[0]).toBeCloseTo(places.get(v)![1] - places.get(first[0])![1], 6);
        });
      }),
    );
  });

  test("the same question gives the same drawing", () => {
    fc.assert(
      fc.property(sketch, (s) => {
        expect(step(s).layout).toEqual(step(s).layout);
      }),
    );
  });

  test("a chain in rows that grows stays in rows, and its edges still turn between them", () => {
    const all = Array.from({ length: 64 }, (_, i) => i);
    const s: Sketch = {
      sizes: all.map(() => ({ width: 220, height: 50 })),
      // The last two hang on the middle of the chain.
      edges: [...all.slice(1, 62).map((i): [number, number] => [i - 1, i]), [30, 62], [62, 63]],
      before: [],
      after: [],
    };
    const first = all.slice(0, 62);
    const before = layOut({ ...inputOf(s, first), aspect: 1.7 });
    expect(before.rows).toBeGreaterThan(3);
    const input = inputOf(s, all);
    const placed = {
      x: Float64Array.from(all, (v) => (v < 62 ? before.x[v] : Number.NaN)),
      y: Float64Array.from(all, (v) => (v < 62 ? before.y[v] : Number.NaN)),
      held: Uint8Array.from(all, (v) => Number(v < 62)),
    };
    const after = layOut({ ...input, aspect: 1.7, placed: { ...placed, rows: before.rows } });
    const moved = [after.x[0] - before.x[0], after.y[0] - before.y[0]];
    for (const v of first) {
      expect(after.x[v] - before.x[v]).toBeCloseTo(moved[0]);
      expect(after.y[v] - before.y[v]).toBeCloseTo(moved[1]);
    }
    expect(after.rows).toBe(before.rows);
    expect([...after.reversed].filter(Boolean)).toEqual([]);
    // Without rows the same places would make every turn an edge that closes a cycle.
    expect([...layOut({ ...input, placed: { ...placed, rows: 1 } }).reversed].filter(Boolean).length).toBe(
      before.rows - 1,
    );
  });
});
