import { count } from "../format.ts";

/** Amounts by name, as bars on one scale. */
export function BarList({
  bars,
  text = count,
}: {
  bars: readonly (readonly [string, number])[];
  text?(n: number): string;
}) {
  const most = Math.max(...bars.map(([, n]) => n), 1);
  return (
    <dl className="bar-list">
      {bars.map(([name, n]) => (
        <div key={name}>
          <dt className="name" title={name}>
            {name}
          </dt>
          <dd>
            <i className="bar" style={{ width: `${(n / most) * 100}%` }} aria-hidden="true" />
            <span>{text(n)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
