// The map of the whole drawing in its corner: where the view is, and a click that takes it elsewhere.
import { memo, type Ref } from "react";
import { MINIMAP, minimapScale } from "./minimap.ts";
import type { Scene } from "./scene.ts";

interface Props {
  nodes: Ref<HTMLCanvasElement>;
  frame: Ref<HTMLDivElement>;
  scene: Scene;
  /** A place of the drawing was clicked. */
  onPlace(at: { x: number; y: number }): void;
}

export const GraphMap = memo(function GraphMap({ nodes, frame, scene, onPlace }: Props) {
  return (
    <div
      className="minimap"
      style={MINIMAP}
      aria-hidden="true"
      onPointerDown={(event) => {
        event.stopPropagation();
        const box = event.currentTarget.getBoundingClientRect();
        const scale = minimapScale(scene);
        onPlace({
          x: (event.clientX - box.left - scale.x) / scale.k,
          y: (event.clientY - box.top - scale.y) / scale.k,
        });
      }}
    >
      <canvas
        ref={nodes}
        width={Math.round(MINIMAP.width * devicePixelRatio)}
        height={Math.round(MINIMAP.height * devicePixelRatio)}
        style={MINIMAP}
      />
      <div ref={frame} className="minimap-frame" />
    </div>
  );
});
