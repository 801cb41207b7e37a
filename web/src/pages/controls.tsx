// The bar over the graph: how far, which way, with which columns, at what time.
import { SegmentedControl, Switch } from "@mantine/core";
import type { Lineage } from "../api/types.ts";
import { type Direction, MAX_DEPTH, navigate, type UrlState } from "../url.ts";

const DIRECTIONS: { value: Direction; label: string }[] = [
  { value: "upstream", label: "Upstream" },
  { value: "both", label: "Both" },
  { value: "downstream", label: "Downstream" },
];

export function Controls({ url, answer }: { url: UrlState; answer: Lineage | undefined }) {
  return (
    <div className="controls">
      <SegmentedControl
        size="xs"
        aria-label="Direction"
        data={DIRECTIONS}
        value={url.direction}
        onChange={(value) => navigate({ direction: value as Direction })}
      />
      <label>
        Depth
        <input
          type="number"
          min={0}
          max={MAX_DEPTH}
          value={url.depth}
          onChange={(event) => {
            const depth = event.currentTarget.valueAsNumber;
            if (Number.isFinite(depth)) navigate({ depth: Math.min(Math.max(Math.round(depth), 0), MAX_DEPTH) });
          }}
        />
      </label>
      <Switch
        size="xs"
        label="Columns"
        checked={url.columns}
        onChange={(event) => navigate({ columns: event.currentTarget.checked })}
      />
      {url.columns && (
        <Switch
          size="xs"
          label="Indirect"
          checked={url.indirect}
          onChange={(event) => navigate({ indirect: event.currentTarget.checked })}
        />
      )}
      <label>
        As of (UTC)
        <input
          type="datetime-local"
          step={1}
          aria-label="As of, UTC"
          value={url.asOf ? new Date(url.asOf).toISOString().slice(0, 19) : ""}
          onChange={(event) => {
            const value = event.currentTarget.value;
            const at = value ? new Date(`${value}Z`) : null;
            if (at === null || !Number.isNaN(at.getTime()))
              navigate({ asOf: at ? at.toISOString().replace(/\.\d+Z$/, "Z") : null });
          }}
        />
      </label>
      {url.asOf && (
        <button type="button" className="plain" onClick={() => navigate({ asOf: null })}>
          Back to now
        </button>
      )}
      {url.field && (
        <span className="chip">
          <span className="name">column {url.field}</span>
          <button
            type="button"
            className="plain"
            aria-label="Stop tracing the column"
            onClick={() => navigate({ field: null })}
          >
            ×
          </button>
        </span>
      )}
      {answer && (
        <span className="note">
          <b>{answer.nodes.length}</b> nodes, <b>{answer.edges.length}</b> edges
          {url.columns && (
            <>
              , <b>{answer.column_edges.length}</b> column edges
            </>
          )}
        </span>
      )}
    </div>
  );
}
