// The bar over the graph: how far, which way, with which columns, in which light; and ways to take it along.
import { Menu, Popover, Select, Switch } from "@mantine/core";
import { memo, useState } from "react";
import { type Direction, type GroupBy, type Lens, MAX_DEPTH } from "../../search-params.ts";
import type { Patch, State } from "./lineage-page.tsx";

const DIRECTIONS: { value: Direction; label: string }[] = [
  { value: "upstream", label: "Upstream" },
  { value: "both", label: "Both" },
  { value: "downstream", label: "Downstream" },
];
const LENS_WORDS: { value: Lens | "none"; label: string }[] = [
  { value: "none", label: "No lens" },
  { value: "incidents", label: "Incidents" },
  { value: "state", label: "Last run" },
  { value: "freshness", label: "Freshness" },
  { value: "usage", label: "Usage" },
  { value: "cost", label: "Cost" },
  { value: "pii", label: "Personal data" },
  { value: "completeness", label: "Completeness" },
  { value: "disagreement", label: "Disagreements" },
  { value: "tag", label: "Tags" },
  { value: "namespace", label: "Namespaces" },
];
const GROUP_WORDS: { value: GroupBy | "none"; label: string }[] = [
  { value: "none", label: "No groups" },
  { value: "namespace", label: "By namespace" },
  { value: "source", label: "By source" },
  { value: "team", label: "By team" },
  { value: "product", label: "By product" },
  { value: "tag", label: "By tag" },
  { value: "owner", label: "By owner" },
  { value: "parent", label: "By folder, DAG" },
];
const DAYS: readonly [word: string, days: number][] = [
  ["yesterday", 1],
  ["a week ago", 7],
  ["30 days ago", 30],
];

export interface Exports {
  png(): void;
  svg(): void;
  csv(): void;
  json(): void;
  mermaid(): void;
}

interface Props {
  state: State;
  change: Patch;
  exports: Exports;
  /** Single runs are drawn: what is asked of datasets and jobs alone is left out. */
  records: boolean;
}

/** Drawn anew only when something that it shows changed: a selection is none of it. */
export const Controls = memo(ControlBar, (was, is) =>
  (Object.keys({ ...was, ...is }) as (keyof Props)[]).every((key) =>
    key === "state" ? showsSame(was.state, is.state) : was[key] === is[key],
  ),
);

const NOT_SHOWN: ReadonlySet<string> = new Set(["selected", "field", "edge"]);
const showsSame = (was: State, is: State) =>
  (Object.keys(is) as (keyof State)[]).every((key) => NOT_SHOWN.has(key) || was[key] === is[key]);

function ControlBar({ state, change, exports, records }: Props) {
  const [more, setMore] = useState(false);
  return (
    <div className={`controls${more ? " is-open" : ""}`}>
      <span className="choices" role="group" aria-label="Direction">
        {DIRECTIONS.map(({ value, label }) => (
          <button
            type="button"
            className="choice"
            key={value}
            aria-pressed={state.direction === value}
            onClick={() => change({ direction: value === "both" ? undefined : value })}
          >
            {label}
          </button>
        ))}
      </span>
      <label className="depth">
        <span>Depth</span>
        <button
          type="button"
          aria-label="One step less"
          disabled={state.depth <= 0}
          onClick={() => change({ depth: state.depth - 1 })}
        >
          −
        </button>
        <input
          type="number"
          min={0}
          max={MAX_DEPTH}
          value={state.depth}
          onChange={(event) => {
            const depth = event.currentTarget.valueAsNumber;
            if (Number.isFinite(depth)) change({ depth: Math.min(Math.max(Math.round(depth), 0), MAX_DEPTH) });
          }}
        />
        <button
          type="button"
          aria-label="One step more"
          disabled={state.depth >= MAX_DEPTH}
          onClick={() => change({ depth: state.depth + 1 })}
        >
          +
        </button>
      </label>
      {!records && (
        <Switch
          size="xs"
          label="Columns"
          checked={state.columns}
          onChange={(event) => change({ columns: event.currentTarget.checked || undefined, field: undefined })}
        />
      )}
      {state.columns && !records && (
        <Switch
          size="xs"
          label="Indirect"
          checked={state.indirect}
          onChange={(event) => change({ indirect: event.currentTarget.checked || undefined })}
        />
      )}
      <button type="button" className="button quiet controls-more" aria-expanded={more} onClick={() => setMore(!more)}>
        More
      </button>
      <div className="controls-rest">
        {!records && (
          <>
            <Select
              size="xs"
              aria-label="Lens"
              allowDeselect={false}
              data={LENS_WORDS}
              value={state.lens ?? "none"}
              onChange={(value) => change({ lens: value === "none" ? undefined : (value as Lens) })}
            />
            <Select
              size="xs"
              aria-label="Groups"
              allowDeselect={false}
              data={GROUP_WORDS}
              value={state.group ?? "none"}
              onChange={(value) =>
                change({ group: value === "none" ? undefined : (value as GroupBy), open: undefined })
              }
            />
          </>
        )}
        <Filter state={state} change={change} />
        {!records && (
          <>
            <Compare state={state} change={change} />
            <button
              type="button"
              className="button quiet"
              aria-pressed={state.times}
              onClick={() => change({ times: state.times ? undefined : true })}
            >
              Times
            </button>
            <Switch
              size="xs"
              label="Fold packages"
              checked={!state.unfolded}
              onChange={(event) => change({ fold: event.currentTarget.checked ? undefined : "none", open: undefined })}
            />
          </>
        )}
        <button
          type="button"
          className="button quiet"
          aria-pressed={state.table}
          title="The same graph as a table (t)"
          onClick={() => change({ view: state.table ? undefined : "table" })}
        >
          {state.table ? "Graph" : "Table"}
        </button>
        <Menu shadow="md" position="bottom-end">
          <Menu.Target>
            <button type="button" className="button quiet">
              Export
            </button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={exports.svg}>Picture, SVG</Menu.Item>
            <Menu.Item onClick={exports.png}>Picture, PNG</Menu.Item>
            <Menu.Item onClick={exports.csv}>Nodes, CSV</Menu.Item>
            <Menu.Item onClick={exports.mermaid}>Mermaid</Menu.Item>
            <Menu.Item onClick={exports.json}>JSON</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
    </div>
  );
}

function Filter({ state, change }: { state: State; change: Patch }) {
  const [text, setText] = useState(state.filter);
  return (
    <form
      className="filter"
      onSubmit={(event) => {
        event.preventDefault();
        change({ filter: text.trim() || undefined });
      }}
    >
      <input
        aria-label="Find in the graph"
        placeholder="find: orders+2 tag:pii"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          if (!event.currentTarget.value) change({ filter: undefined });
        }}
      />
    </form>
  );
}

function Compare({ state, change }: { state: State; change: Patch }) {
  const [open, setOpen] = useState(false);
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");
  const choose = (since: string | undefined) => {
    setOpen(false);
    change({ since });
  };
  if (state.since)
    return (
      <button type="button" className="button" onClick={() => choose(undefined)}>
        Stop comparing
      </button>
    );
  return (
    <Popover opened={open} onChange={setOpen} shadow="md" trapFocus>
      <Popover.Target>
        <button type="button" className="button quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
          Compare
        </button>
      </Popover.Target>
      <Popover.Dropdown>
        <form
          className="as-of-form"
          onSubmit={(event) => {
            event.preventDefault();
            const value = new FormData(event.currentTarget).get("since") as string;
            if (value) choose(new Date(`${value}Z`).toISOString().replace(/\.\d+Z$/, "Z"));
          }}
        >
          <label>
            With the graph of, UTC
            <input name="since" type="datetime-local" step={1} defaultValue={ago(1).slice(0, 19)} />
          </label>
          <button type="submit" className="button">
            Compare
          </button>
          <div className="steps">
            {DAYS.map(([word, days]) => (
              <button type="button" className="plain" key={word} onClick={() => choose(ago(days))}>
                {word}
              </button>
            ))}
          </div>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
