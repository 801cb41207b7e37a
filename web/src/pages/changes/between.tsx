// The two times that are compared, chosen by hand or as the last day, week, month or year.
import type { ChangesSearch } from "./changes-page.tsx";

const STEPS: readonly [word: string, days: number][] = [
  ["a day", 1],
  ["a week", 7],
  ["30 days", 30],
  ["a year", 365],
];

const utc = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

interface Props {
  since: string;
  until: string | undefined;
  change(patch: ChangesSearch): void;
}

export function Between({ since, until, change }: Props) {
  return (
    <div className="between">
      <label>
        From, UTC
        <input
          type="datetime-local"
          step={1}
          value={since.slice(0, 19)}
          onChange={(event) =>
            event.currentTarget.value && change({ since: utc(Date.parse(`${event.currentTarget.value}Z`)) })
          }
        />
      </label>
      <label>
        To, UTC
        <input
          type="datetime-local"
          step={1}
          value={until?.slice(0, 19) ?? ""}
          onChange={(event) =>
            change({
              until: event.currentTarget.value ? utc(Date.parse(`${event.currentTarget.value}Z`)) : undefined,
            })
          }
        />
      </label>
      {!until && <span className="soft">now</span>}
      <span className="steps">
        {STEPS.map(([word, days]) => (
          <button
            type="button"
            className="plain"
            key={word}
            onClick={() => change({ since: utc(Date.now() - days * 86_400_000), until: undefined })}
          >
            {word}
          </button>
        ))}
      </span>
    </div>
  );
}
