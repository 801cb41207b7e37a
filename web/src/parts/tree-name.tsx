// The name of a row that may stand for others: indented by its depth, with the button that opens it.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { count, plural } from "../format.ts";
import type { TreeRow } from "./tree-rows.ts";

interface Props {
  row: TreeRow<{ id: string }>;
  /** Of what is below: "job", "run". */
  noun: "dataset" | "job" | "run";
  /** Of the row, for a screen reader. */
  name: string;
  toggle(id: string): void;
  children: ReactNode;
}

export function TreeName({ row, noun, name, toggle, children }: Props) {
  const { item, depth, isOpen } = row;
  return (
    <span className="tree-name" style={{ paddingInlineStart: depth * 20 }}>
      {children}
      {row.children > 0 && (
        <button
          type="button"
          className="plain unfold"
          aria-expanded={isOpen}
          aria-label={`${isOpen ? "Fold" : "Unfold"} the ${plural(row.children, noun)} of ${name}`}
          onClick={() => toggle(item.id)}
        >
          {isOpen ? "▾" : "▸"}
          {row.children}
        </button>
      )}
      {row.left > 0 && (
        <Link
          to="/catalogue/$kind"
          params={{ kind: `${noun}s` }}
          search={{ parent: item.id }}
          className="soft"
          aria-label={`All ${plural(row.children, noun)} of ${name}`}
        >
          {count(row.left)} more
        </Link>
      )}
    </span>
  );
}

/** The ids after one was opened or closed, for the address; absent: none is open. */
export function toggled(open: readonly string[], id: string): string[] | undefined {
  const next = open.includes(id) ? open.filter((one) => one !== id) : [...open, id];
  return next.length ? next : undefined;
}
