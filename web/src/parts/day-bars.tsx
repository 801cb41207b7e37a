// Numbers by day as small bars: whether today is worse than it usually is. What they say is in words too.
import { count } from "../format.ts";

const WIDTH = 4;
const GAP = 1;
const HEIGHT = 14;
/** A day with few is seen beside a day with many. */
const LEAST = 2;

/** `days`: the oldest first, today last. Nothing is drawn if all are zero. */
export function DayBars({ what, days }: { what: string; days: readonly number[] }) {
  const most = Math.max(...days);
  if (!(most > 0)) return null;
  const words = `${what}, last ${days.length} days: ${days.map((n) => count(n)).join(", ")} (today)`;
  return (
    <svg className="day-bars" role="img" aria-label={words} width={days.length * (WIDTH + GAP) - GAP} height={HEIGHT}>
      <title>{words}</title>
      {days.map((n, i) => {
        const height = n && Math.max((n / most) * HEIGHT, LEAST);
        return (
          <rect
            key={i}
            className={i === days.length - 1 ? "is-today" : undefined}
            x={i * (WIDTH + GAP)}
            y={HEIGHT - (height || 1)}
            width={WIDTH}
            height={height || 1}
          />
        );
      })}
    </svg>
  );
}
