// Words to narrow a list by, and the facets that are on, each with a way to take it off.
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useState } from "react";
import type { ListSearch } from "./questions.ts";

interface Props {
  search: ListSearch;
  change(patch: ListSearch, replace?: boolean): void;
  placeholder: string;
}

const FACETS = ["namespace", "platform", "tag", "owner", "trait", "state"] as const;

export function Narrow({ search, change, placeholder }: Props) {
  const [text, setText] = useState(search.q ?? "");
  const settle = useDebouncedCallback((q: string) => change({ q: q || undefined, page: undefined }, true), 200);
  useEffect(() => {
    setText(search.q ?? "");
  }, [search.q]);
  return (
    <>
      <input
        className="narrow"
        type="search"
        aria-label={placeholder}
        placeholder={placeholder}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          settle(event.currentTarget.value.trim());
        }}
      />
      {FACETS.map(
        (key) =>
          search[key] && (
            <button
              type="button"
              key={key}
              className="chip"
              title={`Do not narrow by ${key}`}
              onClick={() => change({ [key]: undefined, page: undefined })}
            >
              {key}: {search[key]} <span aria-hidden="true">×</span>
            </button>
          ),
      )}
    </>
  );
}

/** Facets with their counts, at the left; a click narrows the list. */
export function FacetList({
  facets,
  change,
}: {
  facets: Record<string, Record<string, number>> | undefined;
  change(patch: ListSearch): void;
}) {
  const [isOpen, setOpen] = useState(false);
  if (!facets) return null;
  const shown = (["namespace", "platform", "tag", "owner"] as const).filter(
    (key) => Object.keys(facets[key] ?? {}).length > 0,
  );
  if (shown.length === 0) return null;
  return (
    <aside className={`facets${isOpen ? " is-open" : ""}`} aria-label="Narrow the list">
      <button
        type="button"
        className="button quiet facets-toggle"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        Narrow by {shown.join(", ")}
      </button>
      {shown.map((key) => (
        <section key={key}>
          <h2>{key}</h2>
          <ul>
            {Object.entries(facets[key])
              .sort((a, b) => b[1] - a[1])
              .slice(0, 12)
              .map(([value, n]) => (
                <li key={value}>
                  <button
                    type="button"
                    className="plain name"
                    title={value}
                    onClick={() => change({ [key]: value, page: undefined })}
                  >
                    {value}
                  </button>
                  <span className="soft">{n}</span>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </aside>
  );
}
