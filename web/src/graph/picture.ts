// The whole drawing as a file: SVG with text that can be searched, PNG of at most some megapixels.
import { HEAD_HEIGHT } from "./card-size.ts";
import { dash, type Ink, paint, strokeOf } from "./paint.ts";
import type { Scene } from "./scene.ts";
import type { WireSet } from "./wires.ts";
import { CARD_ZOOM } from "./viewport.ts";

const MARGIN = 24;
const escape = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

export function svgOf(scene: Scene, ink: Ink): string {
  const { layout, cards, graph } = scene;
  const width = layout.width + 2 * MARGIN;
  const height = layout.height + 2 * MARGIN;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${-MARGIN} ${-MARGIN} ${width} ${height}" width="${Math.ceil(width)}" height="${Math.ceil(height)}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">`,
    `<rect x="${-MARGIN}" y="${-MARGIN}" width="${width}" height="${height}" fill="${ink.ground}"/>`,
  ];
  for (const [kind, all] of Object.entries(scene.wires.kinds) as [keyof WireSet["kinds"], WireSet["kinds"]["edge"]][]) {
    if (all.length === 0) continue;
    const dashes = dash(kind).join(" ");
    parts.push(
      `<g fill="none" stroke="${strokeOf(kind, ink)}" stroke-width="1.5"${dashes ? ` stroke-dasharray="${dashes}"` : ""}>`,
    );
    for (const { curve } of all) {
      let path = `M${round(curve[0])} ${round(curve[1])}`;
      for (let i = 2; i < curve.length; i += 6) path += `C${[...curve.subarray(i, i + 6)].map(round).join(" ")}`;
      parts.push(`<path d="${path}"/>`);
    }
    parts.push("</g>");
  }
  graph.nodes.forEach((node, i) => {
    const { width: w, height: h, rows } = cards[i];
    const tint = node.tint ?? (node.state === "FAILED" ? ink.failed : node.kind === "job" ? ink.job : ink.dataset);
    parts.push(
      `<g transform="translate(${round(layout.x[i])} ${round(layout.y[i])})"><title>${escape(node.title)}</title>`,
      `<rect width="${w}" height="${h}" rx="${node.kind === "job" ? 24 : 8}" fill="${ink.card}" stroke="${node.tint ?? ink.cardLine}"/>`,
      node.kind === "job"
        ? `<circle cx="25" cy="${HEAD_HEIGHT / 2}" r="6" fill="${tint}"/>`
        : `<rect width="6" height="${h}" rx="3" fill="${tint}"/>`,
      `<text x="${node.kind === "job" ? 42 : 18}" y="22" fill="${ink.text}" font-weight="600">${escape(clip(node.label, 26))}</text>`,
      `<text x="${node.kind === "job" ? 42 : 18}" y="38" fill="${ink.text}" opacity="0.7" font-size="10">${escape(clip(node.detail, 32))}</text>`,
    );
    rows.forEach((f, row) =>
      parts.push(
        `<text x="18" y="${HEAD_HEIGHT + 18 + row * 22}" fill="${ink.text}" font-size="11">${escape(clip(node.fields[f].name, 28))}</text>`,
      ),
    );
    parts.push("</g>");
  });
  parts.push("</svg>");
  return parts.join("\n");
}

const round = (n: number) => Math.round(n * 10) / 10;
const clip = (text: string, most: number) =>
  text.length <= most ? text : `${text.slice(0, most / 2 - 1)}…${text.slice(-most / 2)}`;

const MOST_PIXELS = 24_000_000;

export async function pngOf(scene: Scene, ink: Ink): Promise<Blob | null> {
  const w = scene.layout.width + 2 * MARGIN;
  const h = scene.layout.height + 2 * MARGIN;
  // Just under the zoom from which cards are DOM, the canvas draws all of it, names included.
  const k = CARD_ZOOM * 0.99;
  const ratio = Math.min(2 / k, Math.sqrt(MOST_PIXELS / (w * h)) / k);
  const size = { width: w * k, height: h * k, ratio };
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(Math.floor(size.width * size.ratio), 1);
  canvas.height = Math.max(Math.floor(size.height * size.ratio), 1);
  const context = canvas.getContext("2d");
  if (!context) return null;
  const view = { x: MARGIN * k, y: MARGIN * k, k };
  const emphasis = { wires: null, nodes: null, selected: null, current: null };
  paint(context, { scene, view, size, ink, emphasis });
  context.globalCompositeOperation = "destination-over";
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = ink.ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
