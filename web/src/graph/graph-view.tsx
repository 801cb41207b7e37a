// The drawing: a canvas of edges under DOM cards, moved by one transform. Knows a Graph and tells what was touched.
import {
  type KeyboardEvent,
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import "./graph.css";
import { type CardActions, cardElementId, NodeCard } from "./card.tsx";
import { Legend } from "./legend.tsx";
import { GraphMap } from "./graph-map.tsx";
import { heldView, openingView, viewOfFewer } from "./first-view.ts";
import { type LayersPainting, paintLayers } from "./layers.ts";
import { MINIMAP_ABOVE } from "./minimap.ts";
import type { ColumnLink, FieldRef, Graph, Side } from "./model.ts";
import { type Arrow, neighbour } from "./neighbour.ts";
import { emphasisOf } from "./emphasis.ts";
import { FarLabel } from "./far-label.tsx";
import { areSame, aspectOf, inView, NONE_IN_VIEW } from "./in-view.ts";
import { type Ink, inkOf } from "./paint.ts";
import { boxOf, planOf, type Scene } from "./scene.ts";
import { pngOf, svgOf } from "./picture.ts";
import { toggleFullScreen, Tools } from "./tools.tsx";
import { trace } from "./trace.ts";
import { usePointer } from "./use-pointer.ts";
import { useRoom } from "./use-room.ts";
import { useScene } from "./use-scene.ts";
import { useViewport } from "./use-viewport.ts";
import { CARD_ZOOM, centre, fit, reveal, zoomAt } from "./viewport.ts";

/** Pictures of the whole drawing, for a file. */
export interface GraphHandle {
  svg(): string | null;
  png(): Promise<Blob | null>;
}

export interface GraphViewProps {
  ref?: Ref<GraphHandle>;
  graph: Graph;
  columns: boolean;
  indirect: boolean;
  selected: string | null;
  /** The column held traced; hovering another shows that one meanwhile. */
  pinned: FieldRef | null;
  /** Nodes that stand out, a path or what was found; null: all alike. */
  route: ReadonlySet<string> | null;
  /** The scale of a lens. */
  legend: readonly { tint: string; word: string }[] | null;
  /** What a dotted edge means; absent: declared. */
  dotted?: string;
  /** A drawing that would be smaller than this as a whole opens at its root; absent: where cards are not drawn any more. */
  openAbove?: number;
  /** Any value that changes with the colours. */
  theme: string;
  onSelect(id: string | null): void;
  onField(field: FieldRef | null): void;
  onRoot(id: string): void;
  onHidden(id: string, side: Side): void;
  /** A folded parent is opened, or an open one folded. */
  onFold(id: string): void;
  /** What an edge or column link says, in lines, for its label under the pointer. */
  explain(source: string, target: string, link: ColumnLink | null): readonly string[];
  /** An edge was clicked. */
  onEdge(source: string, target: string): void;
}

const NO_FIELDS: ReadonlySet<string> = new Set();

/** The cards on the page. Those of the drawing before stay until it is known which of the new one are in view. */
interface Shown {
  scene: Scene | null;
  nodes: readonly number[];
}
const NOTHING_SHOWN: Shown = { scene: null, nodes: NONE_IN_VIEW };

export function GraphView(props: GraphViewProps) {
  const { graph, columns, indirect, selected, pinned, route, theme } = props;
  const states = useMemo(() => new Set(graph.nodes.flatMap(({ state }) => (state ? [state] : []))), [graph]);
  const intermittent = useMemo(() => graph.edges.some((edge) => edge.intermittent), [graph]);
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const mapFrame = useRef<HTMLDivElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const ink = useRef<Ink | null>(null);
  const painted = useRef<LayersPainting | null>(null);
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(new Set());
  const [arranged, setArranged] = useState(0);
  const [shown, setShown] = useState(NOTHING_SHOWN);
  const [hoveredField, setHoveredField] = useState<FieldRef | null>(null);
  const [moved, setMoved] = useState<string | null>(null);
  const [lastSelected, setLastSelected] = useState<string | null>(null);
  if (selected !== lastSelected) {
    setLastSelected(selected);
    if (selected !== null) setMoved(selected);
  }
  const latest = useRef(props);
  latest.current = props;

  const plan = useMemo(
    () => planOf(graph, { columns, indirect, expanded, arranged, aspect: aspectOf(host.current) }),
    [graph, columns, indirect, expanded, arranged],
  );
  const scene = useScene(plan);
  const field = hoveredField ?? pinned;
  const traced = useMemo(
    () => (scene && field && scene.index.has(field.node) ? trace(scene.graph, scene.links, field) : null),
    [scene, field],
  );
  const current = moved && scene?.index.has(moved) ? moved : (selected ?? graph.root);

  const frame = () => {
    if (!scene || !layer.current || !ink.current) return;
    const view = viewport.view.current;
    const now = { scene, view, size: paper.current, room: room.current, ink: ink.current, emphasis };
    const before = painted.current;
    painted.current = now;
    paintLayers({ ground: canvas.current, over: over.current, map: map.current, frame: mapFrame.current }, now, before);
    if (before?.view !== view) {
      layer.current.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.k})`;
      host.current!.dataset.view = `${view.x.toFixed(1)} ${view.y.toFixed(1)} ${view.k.toFixed(4)}`;
    }
    const next = inView(scene, view, room.current);
    if (shown.scene !== scene || !areSame(next, shown.nodes)) setShown({ scene, nodes: next });
  };
  const viewport = useViewport(host, frame);
  const { room, paper, measure } = useRoom(host, canvas, over, viewport.redraw);
  const pointer = usePointer(host, viewport.view, scene, {
    onSelect: props.onSelect,
    onEdge: props.onEdge,
    onNothing: () => props.onField(null),
    explain: props.explain,
  });
  const { node: hoveredNode, setNode: setHoveredNode, wire: hoveredWire } = pointer;
  const emphasis = useMemo(
    () => emphasisOf(scene, { traced, route, hoveredNode, hoveredWire, selected, current }),
    [scene, traced, route, hoveredNode, hoveredWire, selected, current],
  );

  // Colours follow the theme.
  useLayoutEffect(() => {
    void theme;
    ink.current = inkOf(host.current!);
    viewport.redraw();
  }, [theme, viewport]);

  useEffect(() => {
    void emphasis;
    viewport.redraw();
  }, [emphasis, viewport]);

  // A new drawing: what the reader was looking at stays where it was, else the whole is fitted.
  const previous = useRef<Scene | null>(null);
  const held = useRef<string | null>(null);
  useLayoutEffect(() => {
    if (!scene) return;
    const before = previous.current;
    previous.current = scene;
    const { width, height } = room.current;
    const candidates = [held.current, latest.current.selected, scene.graph.root, before?.graph.root];
    held.current = null;
    const stays = heldView(viewport.view.current, before, scene, candidates);
    const kept = before && stays ? viewOfFewer(stays, before, scene, room.current) : stays;
    viewport.go(kept ?? openingView(scene, room.current, latest.current.openAbove ?? CARD_ZOOM));
    const root = scene.index.get(scene.graph.root);
    if (kept && before?.graph.root !== scene.graph.root && root !== undefined)
      viewport.go(centre(boxOf(scene, root), width, height, Math.max(kept.k, 0.7)), true);
    // Before the browser paints: cards of the drawing before must not stand for a frame where they no longer are.
    frame();
    performance.measure("headwater:layout", { start: performance.now() - scene.took, duration: scene.took });
  }, [scene, viewport]);

  // The panel of what was selected has taken its room, or has given it back: one painting for both.
  useLayoutEffect(measure, [selected, measure]);
  useLayoutEffect(() => {
    const i = selected ? scene?.index.get(selected) : undefined;
    if (!scene || i === undefined) return;
    const { width, height } = room.current;
    viewport.go(reveal(viewport.view.current, boxOf(scene, i), width, height), true);
  }, [selected, scene, viewport]);

  const fitAll = useCallback(() => {
    const now = previous.current;
    if (!now) return;
    const box = { x: 0, y: 0, width: now.layout.width, height: now.layout.height };
    viewport.go(fit(box, room.current.width, room.current.height), true);
  }, [viewport]);

  const actions = useMemo<CardActions>(
    () => ({
      select: (id) => latest.current.onSelect(id),
      root: (id) => latest.current.onRoot(id),
      field: (node, name) => {
        const now = latest.current.pinned;
        latest.current.onField(now?.node === node && now.field === name ? null : { node, field: name });
      },
      hoverNode: setHoveredNode,
      hoverField: (node, name) => setHoveredField(name === null ? null : { node, field: name }),
      more: (id) => {
        held.current = id;
        setExpanded((was) => {
          const next = new Set(was);
          if (!next.delete(id)) next.add(id);
          return next;
        });
      },
      hidden: (id, side) => {
        held.current = id;
        latest.current.onHidden(id, side);
      },
      fold: (id) => {
        held.current = id;
        latest.current.onFold(id);
      },
    }),
    [setHoveredNode],
  );

  useImperativeHandle(
    props.ref,
    () => ({
      svg: () => (scene && ink.current ? svgOf(scene, ink.current) : null),
      png: async () => (scene && ink.current ? pngOf(scene, ink.current) : null),
    }),
    [scene],
  );

  const zoomBy = useCallback(
    (factor: number) =>
      viewport.go(zoomAt(viewport.view.current, factor, room.current.width / 2, room.current.height / 2), true),
    [viewport],
  );
  const arrange = useCallback(() => setArranged((n) => n + 1), []);
  const fullScreen = useCallback(() => void toggleFullScreen(host.current), []);
  const goTo = useCallback(
    (at: { x: number; y: number }) => {
      const { width, height } = room.current;
      viewport.go(centre({ ...at, width: 0, height: 0 }, width, height, viewport.view.current.k), true);
    },
    [viewport],
  );

  const onKeyDown = (event: KeyboardEvent) => {
    if (!scene || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow")) {
      const next = neighbour(scene, current, event.key as Arrow);
      if (next) {
        setMoved(next);
        const { width, height } = room.current;
        viewport.go(reveal(viewport.view.current, boxOf(scene, scene.index.get(next)!), width, height), true);
      }
    } else if (event.key === "Enter") {
      if (event.shiftKey) props.onRoot(current);
      else props.onSelect(current);
    } else if (event.key === "[" || event.key === "]") {
      const node = scene.graph.nodes[scene.index.get(current) ?? -1];
      const side = event.key === "[" ? "upstream" : "downstream";
      if (node && (side === "upstream" ? node.hiddenUpstream : node.hiddenDownstream) > 0)
        actions.hidden(current, side);
    } else if (event.key === "+" || event.key === "=") zoomBy(1.25);
    else if (event.key === "-") zoomBy(0.8);
    else return;
    event.preventDefault();
  };

  useEffect(() => {
    const key = (event: globalThis.KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        target.closest("input, textarea, select, [contenteditable]")
      )
        return;
      if (event.key === "f") fitAll();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [fitAll]);

  const here = scene?.index.get(current);
  const hereShown = here !== undefined && shown.scene === scene && shown.nodes.includes(here);
  return (
    <div
      ref={host}
      className={`graph${traced || route ? " is-tracing" : ""}`}
      role="application"
      aria-label={`Lineage graph of ${graph.nodes.length} nodes. Arrow keys move upstream and downstream, Enter opens, [ and ] show what is hidden, f fits.`}
      aria-activedescendant={hereShown ? cardElementId(current) : undefined}
      tabIndex={0}
      data-nodes={graph.nodes.length}
      data-world={scene ? `${Math.ceil(scene.layout.width)} ${Math.ceil(scene.layout.height)}` : undefined}
      onKeyDown={onKeyDown}
      {...pointer.handlers}
    >
      <canvas ref={canvas} className="wires" aria-hidden="true" />
      <canvas ref={over} className="wires" aria-hidden="true" />
      <div ref={layer} className="cards">
        {shown.scene &&
          shown.nodes.map((i) => {
            const { graph, cards, layout } = shown.scene!;
            const node = graph.nodes[i];
            return (
              <NodeCard
                key={node.id}
                node={node}
                card={cards[i]}
                x={layout.x[i]}
                y={layout.y[i]}
                isRoot={node.id === graph.root}
                isSelected={node.id === selected}
                isCurrent={node.id === current}
                traced={traced ? traced.fields.get(node.id) : route?.has(node.id) ? NO_FIELDS : undefined}
                pinned={pinned?.node === node.id ? pinned.field : null}
                actions={actions}
              />
            );
          })}
      </div>
      {pointer.label && <FarLabel {...pointer.label} width={room.current.width} />}
      <Tools zoom={zoomBy} fit={fitAll} arrange={arrange} fullScreen={fullScreen} />
      {scene && graph.nodes.length > MINIMAP_ABOVE && (
        <GraphMap nodes={map} frame={mapFrame} scene={scene} onPlace={goTo} />
      )}
      <Legend
        columns={columns}
        indirect={indirect}
        states={states}
        intermittent={intermittent}
        dotted={props.dotted ?? "declared"}
        lens={props.legend}
      />
      <div className="sr-only" aria-live="polite">
        {here !== undefined && moved ? `${scene?.graph.nodes[here].kind} ${scene?.graph.nodes[here].title}` : ""}
      </div>
      {!scene && <div className="graph-wait">Laying out {graph.nodes.length} nodes…</div>}
    </div>
  );
}
