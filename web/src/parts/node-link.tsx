// A dataset or job by name, leading to its page; the whole id is in the tooltip.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { bareName, distinguish } from "../names.ts";

interface Props {
  id: string;
  /** What it is called here; else the last segments of its id. */
  label?: string;
  tab?: string;
  children?: ReactNode;
}

export function NodeLink({ id, label, tab, children }: Props) {
  const text = label ?? distinguish([{ id }]).get(id) ?? id;
  const inside = (
    <>
      <KindMark id={id} />
      <span className="name mono">{text}</span>
      {children}
    </>
  );
  if (id.startsWith("job:"))
    return (
      <Link className="node-link" title={id} to="/jobs/$id/{-$tab}" params={{ id: bareName(id), tab }}>
        {inside}
      </Link>
    );
  if (id.startsWith("dataset:"))
    return (
      <Link className="node-link" title={id} to="/datasets/$id/{-$tab}" params={{ id: bareName(id), tab }}>
        {inside}
      </Link>
    );
  if (id.startsWith("instances:"))
    return (
      <Link className="node-link" title={id} to="/schedules/$entity" params={{ entity: bareName(id) }}>
        {inside}
      </Link>
    );
  return (
    <span className="node-link" title={id}>
      {inside}
    </span>
  );
}

export function KindMark({ id }: { id: string }) {
  const kind = id.slice(0, id.indexOf(":"));
  return <i className={`kind ${kind}`} role="img" aria-label={kind} />;
}

/** Several nodes one under another, named so that they differ. */
export function NodeList({ ids, none }: { ids: readonly string[]; none: string }) {
  if (ids.length === 0) return <p className="soft">{none}</p>;
  const names = distinguish(ids.map((id) => ({ id })));
  return (
    <ul className="list">
      {ids.map((id) => (
        <li key={id}>
          <NodeLink id={id} label={names.get(id)} />
        </li>
      ))}
    </ul>
  );
}

export function RunLink({ id, children }: { id: string; children?: ReactNode }) {
  return (
    <Link className="mono" title={`Run ${id}`} to="/runs/$id/{-$tab}" params={{ id, tab: undefined }}>
      {children ?? `${id.slice(0, 8)}…`}
    </Link>
  );
}
