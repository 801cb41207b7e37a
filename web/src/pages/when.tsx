import { ago, exact } from "../format.ts";

/** "3 hr. ago", with the exact time on hover. */
export function When({ at }: { at: string | null }) {
  return (
    <time dateTime={at ?? undefined} title={exact(at)}>
      {ago(at)}
    </time>
  );
}
