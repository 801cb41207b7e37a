// The graph to take along: pictures of the drawing, and its nodes and edges as text.
import type { LineageAnswer } from "../../api/types.ts";
import type { GraphHandle } from "../../graph/graph-view.tsx";
import { csvOf, saveFile } from "../../parts/csv.ts";
import type { Exports } from "./controls.tsx";
import type { DrawnGraph } from "./to-graph.ts";

export function exportsOf(
  handle: () => GraphHandle | null,
  graph: () => DrawnGraph | null,
  answer: LineageAnswer | undefined,
): Exports {
  return {
    svg: () => {
      const text = handle()?.svg();
      if (text) saveFile("lineage.svg", "image/svg+xml", text);
    },
    png: () =>
      void handle()
        ?.png()
        .then((blob) => blob && saveFile("lineage.png", "image/png", blob)),
    csv: () => {
      const now = graph();
      if (now) saveFile("lineage.csv", "text/csv;charset=utf-8", `\ufeff${nodesCsv(now)}`);
    },
    json: () => saveFile("lineage.json", "application/json", JSON.stringify(answer ?? {}, null, 2)),
    mermaid: () => {
      const now = graph();
      if (now) saveFile("lineage.mmd", "text/plain;charset=utf-8", mermaidOf(now));
    },
  };
}

function nodesCsv(graph: DrawnGraph): string {
  const into = new Map<string, string[]>();
  for (const edge of graph.edges) into.set(edge.target, [...(into.get(edge.target) ?? []), edge.source]);
  return csvOf(
    [
      { header: "id", value: (node) => node.id },
      { header: "kind", value: (node) => node.kind },
      { header: "hop", value: (node) => node.hop },
      { header: "state", value: (node) => node.state },
      { header: "tags", value: (node) => node.tags.join(" ") },
      { header: "columns", value: (node) => node.fields.length },
      { header: "from", value: (node) => (into.get(node.id) ?? []).join(" ") },
    ],
    graph.nodes,
  );
}

export function mermaidOf(graph: DrawnGraph): string {
  const number = new Map(graph.nodes.map((node, i) => [node.id, `n${i}`]));
  const text = (label: string) => label.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  const lines = ["flowchart LR"];
  for (const node of graph.nodes)
    lines.push(
      node.kind === "job"
        ? `  ${number.get(node.id)}(["${text(node.label)}"])`
        : `  ${number.get(node.id)}["${text(node.label)}"]`,
    );
  for (const edge of graph.edges)
    lines.push(`  ${number.get(edge.source)} ${edge.declared ? "-.->" : "-->"} ${number.get(edge.target)}`);
  return `${lines.join("\n")}\n`;
}
