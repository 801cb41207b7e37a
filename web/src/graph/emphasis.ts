// Which lines and nodes stand out: a traced column, a path, or what is near the pointer and the selection.
import type { Emphasis } from "./paint.ts";
import type { Scene } from "./scene.ts";
import type { Trace } from "./trace.ts";

interface Attention {
  traced: Trace | null;
  route: ReadonlySet<string> | null;
  hoveredNode: string | null;
  hoveredWire: string | null;
  selected: string | null;
  current: string;
}

export function emphasisOf(scene: Scene | null, attention: Attention): Emphasis {
  const { traced, route, hoveredNode, hoveredWire, selected, current } = attention;
  const strong = new Set<string>();
  if (traced) {
    for (const l of traced.links) strong.add(`l${l}`);
    for (const e of traced.edges) strong.add(`e${e}`);
  } else if (route) {
    scene?.graph.edges.forEach((edge, e) => {
      if (route.has(edge.source) && route.has(edge.target)) strong.add(`e${e}`);
    });
  } else if (hoveredWire !== null) strong.add(hoveredWire);
  else {
    const near = hoveredNode ?? selected;
    if (near !== null)
      scene?.graph.edges.forEach((edge, e) => {
        if (edge.source === near || edge.target === near) strong.add(`e${e}`);
      });
  }
  return { wires: strong, nodes: traced?.fields ?? route, selected, current };
}
