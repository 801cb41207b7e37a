// Which edges to draw backwards so that the rest has no cycle: the back edges of a depth-first walk.

/** Children of each vertex as one flat list: `list[start[v]..start[v+1])` are the edge numbers leaving v. */
export interface Outgoing {
  start: Int32Array;
  list: Int32Array;
}

export function outgoing(count: number, from: Int32Array): Outgoing {
  const start = new Int32Array(count + 1);
  for (const v of from) start[v + 1]++;
  for (let v = 0; v < count; v++) start[v + 1] += start[v];
  const cursor = start.slice();
  const list = new Int32Array(from.length);
  for (let e = 0; e < from.length; e++) list[cursor[from[e]]++] = e;
  return { start, list };
}

/** 1 for each edge to reverse. Sources are visited first, so a graph without cycles keeps every edge. */
export function backEdges(count: number, from: Int32Array, to: Int32Array): Uint8Array {
  const reversed = new Uint8Array(from.length);
  const indegree = new Int32Array(count);
  for (const v of to) indegree[v]++;
  const { start, list } = outgoing(count, from);
  const state = new Uint8Array(count); // 0 unseen, 1 on the stack, 2 done
  const cursor = start.slice(0, count);
  const stack: number[] = [];
  const visit = (seed: number) => {
    if (state[seed]) return;
    state[seed] = 1;
    stack.push(seed);
    while (stack.length) {
      const v = stack[stack.length - 1];
      if (cursor[v] === start[v + 1]) {
        state[v] = 2;
        stack.pop();
        continue;
      }
      const e = list[cursor[v]++];
      const w = to[e];
      if (state[w] === 1) reversed[e] = 1;
      else if (state[w] === 0) {
        state[w] = 1;
        stack.push(w);
      }
    }
  };
  for (let v = 0; v < count; v++) if (indegree[v] === 0) visit(v);
  for (let v = 0; v < count; v++) visit(v);
  return reversed;
}
