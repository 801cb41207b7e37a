import { Skeleton } from "@mantine/core";

/** Bones of a page that is on its way; nothing turns. */
export function Waiting({ lines = 6 }: { lines?: number }) {
  return (
    <div className="waiting" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, i) => (
        <Skeleton key={i} height={i === 0 ? 30 : 20} width={`${i === 0 ? 40 : 95 - ((i * 17) % 30)}%`} />
      ))}
    </div>
  );
}
