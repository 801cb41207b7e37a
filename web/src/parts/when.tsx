import { useSearch } from "@tanstack/react-router";
import { ago, exact } from "../format.ts";

/** "3 hr. ago", with the exact time on hover, in the zone the page shows. */
export function When({ at, full = false }: { at: string | null | undefined; full?: boolean }) {
  const zone = useSearch({ strict: false, select: (search) => search.zone });
  if (!at) return <span className="soft">never</span>;
  return (
    <time dateTime={at} title={full ? ago(at) : exact(at, zone)}>
      {full ? exact(at, zone) : ago(at)}
    </time>
  );
}
