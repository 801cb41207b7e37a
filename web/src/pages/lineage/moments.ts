// The times at which edges of a graph were first seen: where a slider has something to show. Pure.

/** Rising, in ms, to the second, each once; the first second after which each edge is there. */
export function momentsOf(edges: readonly { first_seen: string | null }[], now: number): number[] {
  const found = new Set<number>();
  for (const edge of edges) {
    const at = edge.first_seen === null ? Number.NaN : Math.ceil(Date.parse(edge.first_seen) / 1000) * 1000;
    if (at <= now) found.add(at);
  }
  return [...found].sort((a, b) => a - b);
}
