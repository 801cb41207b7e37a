// What is open about a dataset or job, as a mark with its word; leads to the incident that says so.
import { Link } from "@tanstack/react-router";
import type { Troubles } from "../../api/troubles.ts";
import { State } from "../../parts/state.tsx";

export function Trouble({ of, among }: { of: string; among: Troubles }) {
  const trouble = among.get(of);
  if (!trouble) return <span className="soft">–</span>;
  return (
    <Link to="/incidents/$id" params={{ id: trouble.incident }}>
      <State state={trouble.kind} />
    </Link>
  );
}
