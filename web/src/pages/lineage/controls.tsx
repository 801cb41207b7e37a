// The bar over the graph: how far, which way, with which columns, in which light; and ways to take it along.
import { Menu, NativeSelect, Popover, Switch } from "@mantine/core";
import { memo, useState } from "react";
import type { LineageNode } from "../../api/types.ts";
import { type Direction, type GroupBy, type Lens, MAX_DEPTH } from "../../search-params.ts";
import { Filters } from "./filters.tsx";
import type { Patch, State } from "./lineage-page.tsx";
import { KEYS } from "./selection.ts";

const DIRECTIONS: { value: Direction; label: string }[] = [
  { value: "upstream", label: "Upstream" },
  { value: "both", label: "Both" },
  { value: "downstream", label: "Downstream" },
];
const LENS_WORDS: { value: Lens | "none"; label: string }[] = [
  { value: "none", label: "No lens" },
  { value: "incidents", label: "Incidents" },
  { value: "state", label: "Last run" },
  { value: "validity", label: "Validity" },
  { value: "freshness", label: "Freshness" },
  { value: "usage", label: "Usage" },
  { value: "cost", label: "Cost" },
  { value: "pii", label: "Personal data" },
  { value: "completeness", label: "Completeness" },
  { value: "perspective", label: "Perspectives" },
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

const FIND_HELP: readonly [example: string, word: string][] = [
  ["orders clean", "names with both words"],
  ["+orders", "orders and all upstream of it"],
  ["orders+2", "orders and two steps downstream"],
  ["-type:job", "leave out what a word finds"],
  [KEYS.tag, "by a tag of the node or of a column"],
  [KEYS.owner, "by owner"],
  [KEYS.type, "dataset or job"],
  [KEYS.platform, "by the scheme of the namespace"],
  [KEYS.namespace, "by a part of the namespace"],
  [KEYS.column, "datasets with this column"],
  [KEYS.state, "by the state of the last run"],
  [KEYS.origin, "by how its edges are known"],
  [KEYS.after, "last seen since: a date, or so long ago"],
  [KEYS.before, "not seen since"],
];

export interface Exports {
  png(): void;
  svg(): void;
  csv(): void;
  json(): void;
  mermaid(): void;
}

interface FormsProps {
  table: boolean;
  change: Patch;
  exports: Exports;
}

interface Props {
  state: State;
  change: Patch;
  /** Single runs are drawn: what is asked of datasets and jobs alone is left out. */
  records: boolean;
  /** Returns the nodes whose values are offered as filters. */
  listNodes(): readonly LineageNode[];
}

/** Drawn anew only when something that it shows changed: a selection is none of it. */
export const Controls = memo(ControlBar, (was, is) =>
  (Object.keys({ ...was, ...is }) as (keyof Props)[]).every((key) =>
    key === "state" ? showsSame(was.state, is.state) : was[key] === is[key],
  ),
);

const NOT_SHOWN: ReadonlySet<string> = new Set(["selected", "field", "edge", "table"]);
const showsSame = (was: State, is: State) =>
  (Object.keys(is) as (keyof State)[]).every((key) => NOT_SHOWN.has(key) || was[key] === is[key]);

function ControlBar({ state, change, records, listNodes }: Props) {
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
            <LensChoice lens={state.lens} change={change} />
            <GroupChoice group={state.group} change={change} />
          </>
        )}
        <FindLine filter={state.filter} change={change} />
        {!records && (
          <>
            <Filters only={state.only} listNodes={listNodes} change={change} />
            <Compare since={state.since} change={change} />
            <button
              type="button"
              className="button quiet"
              aria-pressed={state.times}
              onClick={() => change({ times: state.times ? undefined : true })}
            >
              Times
            </button>
            <button
              type="button"
              className="button quiet"
              aria-pressed={!state.unfolded}
              title="Draw jobs below another as that one"
              onClick={() => change({ fold: state.unfolded ? undefined : "none", open: undefined })}
            >
              Fold jobs
            </button>
          </>
        )}
      </div>
    </div>
  );
}

/** Other forms of what is shown: a table, a file. */
export const Forms = memo(function Forms({ table, change, exports }: FormsProps) {
  return (
    <span className="forms">
      <button
        type="button"
        className="button quiet"
        aria-pressed={table}
        title="The same graph as a table (t)"
        onClick={() => change({ view: table ? undefined : "table" })}
      >
        {table ? "Graph" : "Table"}
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
    </span>
  );
});

// A choice is the browser's own: opening it and choosing from it costs the page nothing but what it changes.
const LensChoice = memo(function LensChoice({ lens, change }: { lens: State["lens"]; change: Patch }) {
  return (
    <NativeSelect
      size="xs"
      aria-label="Lens"
      data={LENS_WORDS}
      value={lens ?? "none"}
      onChange={({ target: { value } }) => change({ lens: value === "none" ? undefined : (value as Lens) })}
    />
  );
});

const GroupChoice = memo(function GroupChoice({ group, change }: { group: State["group"]; change: Patch }) {
  return (
    <NativeSelect
      size="xs"
      aria-label="Groups"
      data={GROUP_WORDS}
      value={group ?? "none"}
      onChange={({ target: { value } }) =>
        change({ group: value === "none" ? undefined : (value as GroupBy), open: undefined })
      }
    />
  );
});

const FindLine = memo(function FindLine({ filter, change }: { filter: string; change: Patch }) {
  const [text, setText] = useState(filter);
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
        placeholder="find: +orders"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          if (!event.currentTarget.value) change({ filter: undefined });
        }}
      />
      <Popover shadow="md" position="bottom-end">
        <Popover.Target>
          <button type="button" className="icon-button" aria-label="Help on finding" title="Help on finding">
            ?
          </button>
        </Popover.Target>
        <Popover.Dropdown>
          <dl className="find-help">
            {FIND_HELP.map(([example, word]) => (
              <div key={example}>
                <dt className="mono">{example}</dt>
                <dd>{word}</dd>
              </div>
            ))}
          </dl>
        </Popover.Dropdown>
      </Popover>
    </form>
  );
});

const Compare = memo(function Compare({ since, change }: { since: State["since"]; change: Patch }) {
  const [open, setOpen] = useState(false);
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");
  const choose = (since: string | undefined) => {
    setOpen(false);
    change({ since });
  };
  if (since)
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
});
