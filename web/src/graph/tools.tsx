// The buttons over the drawing.
import { memo } from "react";

interface Props {
  zoom(factor: number): void;
  fit(): void;
  arrange(): void;
  fullScreen(): void;
}

const PATHS = {
  fit: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  arrange: "M2 3h4v3H2zM10 2h4v3h-4zM10 8h4v3h-4zM6 4.5h2M8 4.5v5h2M2 13h12",
  full: "M9 2h5v5M14 2 9 7M7 14H2V9M2 14l5-5",
};

export const Tools = memo(function Tools({ zoom, fit, arrange, fullScreen }: Props) {
  return (
    <div className="graph-tools">
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoom(1.25)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => zoom(0.8)}>
        −
      </button>
      <Tool label="Fit the graph" title="Fit the graph (f)" path={PATHS.fit} press={fit} />
      <Tool label="Arrange anew" title="Arrange anew: what is placed may move" path={PATHS.arrange} press={arrange} />
      <Tool label="Full screen" title="Full screen" path={PATHS.full} press={fullScreen} />
    </div>
  );
});

function Tool({ label, title, path, press }: { label: string; title: string; path: string; press(): void }) {
  return (
    <button type="button" aria-label={label} title={title} onClick={press}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={path} />
      </svg>
    </button>
  );
}

/** The whole stage, so that notices and details come along. */
export async function toggleFullScreen(element: HTMLElement | null) {
  if (document.fullscreenElement) await document.exitFullscreen();
  else await element?.closest(".lineage, .stage")?.requestFullscreen();
}
