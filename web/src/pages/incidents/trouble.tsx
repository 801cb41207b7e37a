// What is open about a dataset or job, as a mark with its word; leads to the incidents of that kind.
import { Link } from "@tanstack/react-router";
import { State } from "../../parts/state.tsx";

export function Trouble({ of, among }: { of: string; among: ReadonlyMap<string, string> }) {
  const kind = among.get(of);
  if (!kind) return <span className="soft">–</span>;
  return (
    <Link to="/incidents" search={{ kind }}>
      <State state={kind} />
    </Link>
  );
}
