import { Skeleton } from "@mantine/core";
import { useEffect, useState } from "react";

/** An answer that comes before is not announced by bones. */
const SLOW_MS = 300;

/** Bones of a page that is on its way; nothing turns. */
export function Waiting({ lines = 6 }: { lines?: number }) {
  const [isSlow, setIsSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="waiting" role="status" aria-label="Loading">
      {isSlow &&
        Array.from({ length: lines }, (_, i) => (
          <Skeleton key={i} height={i === 0 ? 30 : 20} width={`${i === 0 ? 40 : 95 - ((i * 17) % 30)}%`} />
        ))}
    </div>
  );
}
