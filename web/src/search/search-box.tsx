// Search as you type: arrows choose, Enter opens, and every result says why it is there.
import { Combobox, Loader, TextInput, useCombobox } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { ApiError } from "../api/client.ts";
import { useSearch } from "../api/queries.ts";
import type { SearchResult } from "../api/types.ts";
import { shortNamespace } from "../format.ts";
import { atNode } from "../pages/open-node.tsx";
import { navigate, useUrl } from "../url.ts";

const INPUT = "search";

export function focusSearch() {
  const input = document.getElementById(INPUT) as HTMLInputElement | null;
  input?.focus();
  input?.select();
}

export function SearchBox({ large = false }: { large?: boolean }) {
  const { q } = useUrl();
  const [text, setText] = useState(q);
  const [settled] = useDebouncedValue(text, 160);
  const search = useSearch(settled);
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  const results = settled.trim() ? (search.data?.results ?? []) : [];

  // The address follows the typing, and Back brings the words back; what we wrote ourselves is not news.
  const written = useRef(q);
  useEffect(() => {
    written.current = settled;
    navigate({ q: settled }, { replace: true });
  }, [settled]);
  useEffect(() => {
    if (q === written.current) return;
    written.current = q;
    setText(q);
  }, [q]);
  useEffect(() => {
    if (results.length) combobox.selectFirstOption();
  }, [search.data]);

  const open = (id: string) => {
    combobox.closeDropdown();
    setText("");
    navigate(atNode(id));
  };
  return (
    <Combobox store={combobox} onOptionSubmit={open} shadow="md" offset={4}>
      <Combobox.Target>
        <TextInput
          id={INPUT}
          aria-label="Search datasets, jobs and columns"
          placeholder="Search datasets, jobs and columns"
          size={large ? "md" : "xs"}
          value={text}
          autoComplete="off"
          spellCheck={false}
          styles={{ input: { fontFamily: "var(--mono)", background: "var(--field)", borderColor: "var(--line)" } }}
          rightSection={search.isFetching && settled ? <Loader size={14} /> : <kbd>/</kbd>}
          onChange={(event) => {
            setText(event.currentTarget.value);
            combobox.openDropdown();
          }}
          onFocus={() => text && combobox.openDropdown()}
          onClick={() => text && combobox.openDropdown()}
          onBlur={() => combobox.closeDropdown()}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              event.currentTarget.blur();
              setText("");
            }
          }}
        />
      </Combobox.Target>
      <Combobox.Dropdown hidden={!settled.trim() || (!search.data && !search.error)}>
        <Combobox.Options mah={420} style={{ overflowY: "auto" }}>
          {results.map((result) => (
            <Combobox.Option value={result.id} key={result.id} title={result.id}>
              <Result result={result} />
            </Combobox.Option>
          ))}
          {search.error ? (
            <Combobox.Empty>
              {search.error instanceof ApiError ? search.error.message : "The search failed."}
            </Combobox.Empty>
          ) : (
            results.length === 0 && <Combobox.Empty>Nothing is called or described like this</Combobox.Empty>
          )}
        </Combobox.Options>
        {search.data && search.data.total > results.length && results.length > 0 && (
          <Combobox.Footer fz={11.5}>
            {results.length} of {search.data.total} shown: type more of the name
          </Combobox.Footer>
        )}
      </Combobox.Dropdown>
    </Combobox>
  );
}

function Result({ result }: { result: SearchResult }) {
  return (
    <span className="result">
      <i className={`kind ${result.type.toLowerCase()}`} />
      <span style={{ minWidth: 0 }}>
        <strong className="name">{result.label}</strong>
        <small className="name">
          {shortNamespace(result.namespace)} · {result.name}
        </small>
      </span>
      <span className="why name">
        {result.matched === "name" ? result.type.toLowerCase() : result.matched}
        {result.detail && result.matched !== "name" && (
          <>
            {" "}
            <b className="mono">{result.detail}</b>
          </>
        )}
      </span>
    </span>
  );
}
