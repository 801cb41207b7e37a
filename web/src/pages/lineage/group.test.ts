import fc from "fast-check";
import { expect, test } from "vitest";
import type { GroupBy } from "../../search-params.ts";
import { groupNodes } from "./group.ts";
import type { SelectableNode } from "./selection.ts";
import type { DrawnGraph } from "./to-graph.ts";

const node = (n: number, namespace: string, team: string | null, job: boolean): SelectableNode => ({
  id: `${job ? "job" : "dataset"}:${n}`,
  kind: job ? "job" : "dataset",
  namespace,
  parent: null,
  owners: team ? [team] : [],
  seenAt: null,
  label: `n${n}`,
  title: `${namespace} a.b.n${n}`,
  detail: "",
  fields: [],
  tags: n % 5 === 0 ? ["product:shop"] : [],
  state: null,
  tint: null,
  note: null,
  folded: 0,
  hop: n,
  hiddenUpstream: n % 3,
  hiddenDownstream: 0,
});

const graphs: fc.Arbitrary<DrawnGraph> = fc
  .array(
    fc.record({
      namespace: fc.constantFrom("s3://a", "s3://b", "file"),
      team: fc.constantFrom("ana", "bo", null),
      job: fc.boolean(),
    }),
    { minLength: 1, maxLength: 30 },
  )
  .chain((drawn) => {
    const nodes = drawn.map((one, n) => node(n, one.namespace, one.team, one.job));
    return fc
      .array(fc.tuple(fc.nat(nodes.length - 1), fc.nat(nodes.length - 1)), { maxLength: 50, size: "max" })
      .map((pairs) => ({
        root: nodes[0].id,
        nodes,
        edges: pairs.map(([s, t]) => ({ source: nodes[s].id, target: nodes[t].id, declared: false, change: null })),
        links: [],
      }));
  });

const by: fc.Arbitrary<GroupBy> = fc.constantFrom("namespace", "source", "team", "product", "tag", "parent");

test("every node is shown or counted once, and every edge is drawn, counted or inside", () => {
  fc.assert(
    fc.property(graphs, by, (graph, key) => {
      const { graph: shown, inside } = groupNodes(graph, key, new Set());
      const ids = shown.nodes.flatMap((one) => inside.get(one.id) ?? [one.id]);
      expect(ids.sort()).toEqual(graph.nodes.map((one) => one.id).sort());
      for (const one of shown.nodes) if (inside.has(one.id)) expect(one.folded).toBe(inside.get(one.id)!.length);
      const drawn = shown.edges.reduce((sum, edge) => sum + (edge.count ?? 1), 0);
      const within = shown.nodes.reduce(
        (sum, one) => sum + Number(/, (\d+) edges? inside$/.exec(one.title)?.[1] ?? 0),
        0,
      );
      expect(drawn + within).toBe(graph.edges.length);
      const sum = (all: readonly SelectableNode[]) => all.reduce((total, one) => total + one.hiddenUpstream, 0);
      expect(sum(shown.nodes)).toBe(sum(graph.nodes));
      expect(shown.nodes.some((one) => one.id === graph.root)).toBe(true);
    }),
  );
});

test("with all groups open the graph is as it was", () => {
  fc.assert(
    fc.property(graphs, by, (graph, key) => {
      const { inside } = groupNodes(graph, key, new Set());
      const open = groupNodes(graph, key, new Set(inside.keys()));
      expect(open.graph).toBe(graph);
      expect(new Set(open.opened)).toEqual(new Set(inside.keys()));
    }),
  );
});

test("a team is a tag, or else the owner; a source is the scheme of the namespace", () => {
  const graph: DrawnGraph = {
    root: "dataset:0",
    nodes: [
      node(0, "file", null, false),
      node(1, "s3://a", "ana", false),
      { ...node(2, "s3://b", null, false), tags: ["team:ana"] },
      node(3, "file", null, true),
    ],
    edges: [],
    links: [],
  };
  expect([...groupNodes(graph, "team", new Set()).inside]).toEqual([["group:team:ana", ["dataset:1", "dataset:2"]]]);
  expect([...groupNodes(graph, "source", new Set()).inside]).toEqual([["group:source:s3", ["dataset:1", "dataset:2"]]]);
});

test("a package that is folded counts as the jobs it stands for", () => {
  const folded = { ...node(2, "file", null, true), folded: 3 };
  const graph = {
    root: "dataset:0",
    nodes: [node(0, "s3://a", null, false), node(1, "file", null, true), folded],
    edges: [],
    links: [],
  };
  const [, group] = groupNodes(graph, "namespace", new Set()).graph.nodes;
  expect([group.detail, group.folded]).toEqual(["4 jobs", 4]);
});
