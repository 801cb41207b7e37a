// What alone is drawn: by namespace, platform, tag, owner, kind, state, origin, time and recurrence. The server filters and draws
// an edge over what it left out; all of it is in the address.
import { Popover } from "@mantine/core";
import { memo, useId, useMemo, useState } from "react";
import type { LineageNode } from "../../api/types.ts";
import { plural } from "../../format.ts";
import { platformOf } from "../../names.ts";
import { type Only, ORIGINS, RECURRENCES, RUN_STATES } from "../../search-params.ts";
import type { Patch } from "./lineage-page.tsx";

const LISTS = ["namespace", "platform", "tag", "owner"] as const;
type ListKey = (typeof LISTS)[number];
const CHOICES = { type: ["dataset", "job"], state: RUN_STATES, origin: ORIGINS } as const;
const LABELS: Record<ListKey | keyof typeof CHOICES, string> = {
  namespace: "Namespaces",
  platform: "Platforms",
  tag: "Tags",
  owner: "Owners",
  type: "Kind",
  state: "Last run",
  origin: "Edges that are",
};
/** At most so many of a key's values are offered. */
const OFFERED = 200;
const words = (value: string) => value.replaceAll("_", " ");

/** A patch that removes every filter. */
export const NO_FILTERS: Only = filtersOf(new FormData());

interface Props {
  only: Only;
  /** Returns the nodes whose values are offered: asked when the form opens, so that another answer draws nothing here. */
  listNodes(): readonly LineageNode[];
  change: Patch;
}

export const Filters = memo(function Filters({ only, listNodes, change }: Props) {
  const [open, setOpen] = useState(false);
  const active = Object.keys(only).length;
  return (
    <Popover opened={open} onChange={setOpen} shadow="md" position="bottom-start" trapFocus>
      <Popover.Target>
        <button
          type="button"
          className={`button${active ? "" : " quiet"}`}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {active ? plural(active, "filter") : "Filter"}
        </button>
      </Popover.Target>
      <Popover.Dropdown>
        <FilterForm
          only={only}
          listNodes={listNodes}
          change={(patch) => {
            setOpen(false);
            change(patch);
          }}
        />
      </Popover.Dropdown>
    </Popover>
  );
});

function FilterForm({ only, listNodes, change }: Props) {
  const id = useId();
  const nodes = useMemo(listNodes, [listNodes]);
  return (
    <form
      className="filters-form"
      onSubmit={(event) => {
        event.preventDefault();
        change(filtersOf(new FormData(event.currentTarget)));
      }}
    >
      {LISTS.map((key) => (
        <label key={key}>
          {LABELS[key]}
          <input
            name={key}
            list={`${id}-${key}`}
            placeholder="any; a, b*"
            defaultValue={only[key]?.join(", ")}
            autoComplete="off"
            spellCheck={false}
          />
          <datalist id={`${id}-${key}`}>
            {offered(key, nodes).map((value) => (
              <option key={value} value={value} />
            ))}
          </datalist>
        </label>
      ))}
      {(Object.keys(CHOICES) as (keyof typeof CHOICES)[]).map((key) => (
        <label key={key}>
          {LABELS[key]}
          <select name={key} defaultValue={only[key] ?? ""}>
            <option value="">any</option>
            {CHOICES[key].map((value) => (
              <option key={value} value={value}>
                {words(value)}
              </option>
            ))}
          </select>
        </label>
      ))}
      <label>
        Edges seen since, UTC
        <input name="seen" type="datetime-local" step={1} defaultValue={only.seen?.replace(/Z$/, "")} />
      </label>
      <fieldset>
        <legend>Leave out jobs that are</legend>
        {RECURRENCES.map((value) => (
          <label key={value} className="check">
            <input type="checkbox" name="hide" value={value} defaultChecked={only.hide?.includes(value)} />
            {words(value)}
          </label>
        ))}
      </fieldset>
      <div className="filters-end">
        <button type="submit" className="button">
          Filter
        </button>
        <button type="button" className="plain" onClick={() => change(NO_FILTERS)}>
          Remove all
        </button>
      </div>
    </form>
  );
}

/** What the form says, as a patch of the address: every key of `Only`, those without a value undefined. */
export function filtersOf(form: FormData): Only {
  const text = (key: string) => (form.get(key) as string | null)?.trim() || undefined;
  const list = (key: string) => {
    const values = [...new Set((text(key) ?? "").split(",").map((one) => one.trim()))].filter(Boolean);
    return values.length ? values : undefined;
  };
  const hide = form.getAll("hide") as string[];
  const seen = text("seen");
  return {
    namespace: list("namespace"),
    platform: list("platform"),
    tag: list("tag"),
    owner: list("owner"),
    type: text("type") as Only["type"],
    state: text("state") as Only["state"],
    origin: text("origin") as Only["origin"],
    seen: seen && new Date(`${seen}Z`).toISOString().replace(/\.\d+Z$/, "Z"),
    hide: hide.length ? hide : undefined,
  };
}

function offered(key: ListKey, nodes: readonly LineageNode[]): string[] {
  const values = new Set<string>();
  for (const node of nodes) for (const value of valuesOf(key, node)) values.add(value);
  return [...values].sort().slice(0, OFFERED);
}

function valuesOf(key: ListKey, node: LineageNode): readonly string[] {
  switch (key) {
    case "namespace":
      return [node.namespace];
    case "platform":
      return [platformOf(node.namespace)];
    case "tag":
      return node.type === "DATASET" ? [...node.tags, ...node.fields.flatMap((field) => field.tags)] : node.tags;
    case "owner":
      return node.owner_names ?? [];
  }
}
