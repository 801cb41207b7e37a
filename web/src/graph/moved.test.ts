import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bareAfter, shiftOf } from "./moved.ts";

describe("a drawing that moves", () => {
  it("leaves each pixel either kept or bare, never both", () => {
    const step = fc.integer({ min: -9, max: 9 });
    const side = fc.integer({ min: 1, max: 7 });
    fc.assert(
      fc.property(step, step, side, side, (x, y, width, height) => {
        const times = Array.from({ length: width * height }, () => 0);
        for (const strip of bareAfter({ x, y }, width, height))
          for (let row = strip.y; row < strip.y + strip.height; row++)
            for (let column = strip.x; column < strip.x + strip.width; column++) times[row * width + column]++;
        times.forEach((n, i) => {
          const [fromX, fromY] = [(i % width) - x, Math.floor(i / width) - y];
          const isKept = fromX >= 0 && fromX < width && fromY >= 0 && fromY < height;
          expect(n).toBe(isKept ? 0 : 1);
        });
      }),
    );
  });

  it("keeps nothing after a zoom or a part of a pixel", () => {
    const at = (x: number, k = 1, ratio = 1) => ({ view: { x, y: 0.3, k }, size: { ratio } });
    expect(shiftOf(at(5.3), at(2.3))).toEqual({ x: 3, y: 0 });
    expect(shiftOf(at(5.5), at(2.3))).toBeNull();
    expect(shiftOf(at(5.5, 1, 2), at(2, 1, 2))).toEqual({ x: 7, y: 0 });
    expect(shiftOf(at(5.3, 2), at(2.3))).toBeNull();
  });
});
