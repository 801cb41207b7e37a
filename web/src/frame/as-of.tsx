// The time the whole page speaks of: now, unless one is chosen. Tinted while it is not now.
import { Popover } from "@mantine/core";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { exact } from "../format.ts";

const STEPS: readonly [word: string, hours: number][] = [
  ["1 hour ago", 1],
  ["yesterday", 24],
  ["a week ago", 168],
  ["30 days ago", 720],
];

const utc = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

export function AsOf() {
  const asOf = useSearch({ strict: false, select: (search) => search.asOf });
  const zone = useSearch({ strict: false, select: (search) => search.zone });
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const choose = (at: string | undefined) => {
    setOpen(false);
    void navigate({ to: ".", search: (now) => ({ ...now, asOf: at }) });
  };
  return (
    <span className={`as-of${asOf ? " is-past" : ""}`}>
      <Popover opened={open} onChange={setOpen} shadow="md" position="bottom-end" trapFocus>
        <Popover.Target>
          <button type="button" className="button quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
            <span className="minor">As of: </span>
            {asOf ? (
              <>
                <span className="as-of-exact">{exact(asOf, zone)}</span>
                <span className="as-of-day">{exact(asOf, zone).slice(0, 10)}</span>
              </>
            ) : (
              "now"
            )}
          </button>
        </Popover.Target>
        <Popover.Dropdown>
          <form
            className="as-of-form"
            onSubmit={(event) => {
              event.preventDefault();
              const value = new FormData(event.currentTarget).get("at") as string;
              if (value) choose(utc(Date.parse(`${value}Z`)));
            }}
          >
            <label>
              Time, UTC
              <input
                name="at"
                type="datetime-local"
                step={1}
                defaultValue={(asOf ? new Date(asOf) : new Date()).toISOString().slice(0, 19)}
              />
            </label>
            <button type="submit" className="button">
              Show
            </button>
            <div className="steps">
              {STEPS.map(([word, hours]) => (
                <button
                  type="button"
                  className="plain"
                  key={word}
                  onClick={() => choose(utc(Date.now() - hours * 3_600_000))}
                >
                  {word}
                </button>
              ))}
            </div>
          </form>
        </Popover.Dropdown>
      </Popover>
      {asOf && (
        <Link className="button quiet" to="." search={(now) => ({ ...now, asOf: undefined })} aria-label="Back to now">
          <span className="minor">Back to </span>now
        </Link>
      )}
    </span>
  );
}
