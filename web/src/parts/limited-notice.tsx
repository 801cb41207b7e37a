// What a reader with limits has to know of every page: that it shows less than there is.
import { useMe } from "../api/queries.ts";

export function LimitedNotice() {
  const limits = useMe().data?.limits ?? [];
  if (limits.length === 0) return null;
  return (
    <p className="notice-line" role="status">
      You see {limits.join(", ")} only. What fails, is late or wrong because of data out of your sight may be missing
      here. Ask an admin for a key without limits to see it.
    </p>
  );
}
