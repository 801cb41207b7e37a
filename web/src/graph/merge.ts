// Sorting that counts: a merge sort of keys that carries a number with each, and knows how disordered they were.

/** Up to so many are sorted by insertion before any are merged. */
const RUN = 12;

/** Keys with the vertex that each belongs to, and room to merge them in; the same is used for row after row. */
export interface Keyed {
  key: Float64Array;
  vertex: Int32Array;
  otherKey: Float64Array;
  otherVertex: Int32Array;
}

export function keyed(size: number): Keyed {
  return {
    key: new Float64Array(size),
    vertex: new Int32Array(size),
    otherKey: new Float64Array(size),
    otherVertex: new Int32Array(size),
  };
}

/**
 * Sorts the first `count` by key, ascending; equal keys stay as they stood. Returns how many pairs stood the wrong way
 * round. Nearly sorted keys, as a sweep finds them, cost little more than one look at each.
 */
export function sortKeyed(all: Keyed, count: number): number {
  const { key, vertex } = all;
  let inverted = 0;
  for (let from = 0; from < count; from += RUN) {
    const end = Math.min(from + RUN, count);
    for (let i = from + 1; i < end; i++) {
      const k = key[i];
      const v = vertex[i];
      let j = i;
      for (; j > from && key[j - 1] > k; j--) {
        key[j] = key[j - 1];
        vertex[j] = vertex[j - 1];
      }
      key[j] = k;
      vertex[j] = v;
      inverted += i - j;
    }
  }
  for (let size = RUN; size < count; size *= 2)
    for (let from = 0; from + size < count; from += 2 * size)
      inverted += merge(all, from, from + size, Math.min(from + 2 * size, count));
  return inverted;
}

/** Merges what is sorted in [from, middle) and in [middle, end). Only the left part's room is needed beside. */
function merge({ key, vertex, otherKey, otherVertex }: Keyed, from: number, middle: number, end: number): number {
  if (key[middle - 1] <= key[middle]) return 0;
  const left = middle - from;
  for (let i = 0; i < left; i++) {
    otherKey[i] = key[from + i];
    otherVertex[i] = vertex[from + i];
  }
  let inverted = 0;
  let to = from;
  for (let i = 0, j = middle; i < left; to++) {
    if (j < end && key[j] < otherKey[i]) {
      inverted += left - i;
      key[to] = key[j];
      vertex[to] = vertex[j++];
    } else {
      key[to] = otherKey[i];
      vertex[to] = otherVertex[i++];
    }
  }
  return inverted;
}
