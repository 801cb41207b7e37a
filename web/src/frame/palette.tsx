// One palette for everything: datasets, jobs and columns by their words, saved views and pages by their names. All hits can be reached.
import { Modal } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { remember, useAsk } from "../api/queries.ts";
import type { SearchResult } from "../api/types.ts";
import { plural, shortNamespace } from "../format.ts";
import { bareName, distinguish } from "../names.ts";
import { KindMark } from "../parts/node-link.tsx";
import { useViews } from "./use-views.ts";

const PAGES: readonly [word: string, path: string][] = [
  ["Home", "/"],
  ["Datasets", "/catalogue/datasets"],
  ["Jobs", "/catalogue/jobs"],
  ["Runs", "/catalogue/runs"],
  ["Dashboards", "/catalogue/dashboards"],
  ["Schedules", "/catalogue/entities"],
  ["Sources", "/catalogue/sources"],
  ["Teams and products", "/catalogue/teams"],
  ["People", "/catalogue/people"],
  ["Tags", "/catalogue/tags"],
  ["Incidents", "/incidents"],
  ["Alerts", "/alerting"],
  ["Plans", "/plans"],
  ["What changed", "/changes"],
  ["Usage", "/usage"],
  ["Cost", "/usage/cost"],
  ["What may be removed", "/usage/pruning"],
  ["What if", "/whatif"],
  ["Privacy", "/privacy"],
  ["Review of a pull request", "/review"],
  ["Trace a file", "/trace"],
  ["Events", "/events"],
  ["Producers", "/events/producers"],
  ["Settings", "/settings"],
];
const STEP = 40;

export function Palette({ onClose }: { onClose(): void }) {
  const [text, setText] = useState("");
  const [limit, setLimit] = useState(STEP);
  const [at, setAt] = useState(0);
  const [settled] = useDebouncedValue(text.trim(), 140);
  const navigate = useNavigate();
  const list = useRef<HTMLDivElement>(null);
  const search = useAsk("/api/v2/search", { query: { q: settled, limit } }, { enabled: settled !== "", keep: true });
  const results = useMemo(() => (settled ? (search.data?.results ?? []) : []), [settled, search.data]);
  const schedules = settled ? (search.data?.schedules ?? []) : [];
  const names = useMemo(() => distinguish(results), [results]);
  const { views: saved } = useViews();
  const views = saved.filter(({ name }) => settled !== "" && name.toLowerCase().includes(settled.toLowerCase()));
  const pages = PAGES.filter(([word]) => !settled || word.toLowerCase().includes(settled.toLowerCase()));
  const total = search.data?.total ?? 0;
  useEffect(() => {
    remember(results);
  }, [results]);
  useEffect(() => {
    setAt(0);
    setLimit(STEP);
  }, [settled]);

  const options = [
    ...results.map((result) => ({ key: result.id, open: () => openNode(result) })),
    ...(settled && total > results.length
      ? [{ key: "more", open: () => setLimit((now) => Math.min(now + 200, 10_000)) }]
      : []),
    ...schedules.map(({ entity }) => ({
      key: entity,
      open: () => {
        onClose();
        void navigate({ to: "/schedules/$entity", params: { entity } });
      },
    })),
    ...views.map(({ keep, address }) => ({
      key: `${keep} ${address}`,
      // As its link on the home page does: the address stays as it was saved.
      open: () => location.assign(new URL(address, document.baseURI)),
    })),
    ...pages.map(([word, path]) => ({ key: word, open: () => go(path) })),
  ];
  // Where the last three lists begin among the options.
  const firstPage = options.length - pages.length;
  const firstView = firstPage - views.length;
  const firstSchedule = firstView - schedules.length;
  const go = (path: string) => {
    onClose();
    void navigate({ to: path as "/" });
  };
  const openNode = (result: SearchResult) => {
    onClose();
    const id = bareName(result.id);
    if (result.matched === "column" && result.detail && result.type === "DATASET")
      void navigate({ to: "/columns/$id/$column", params: { id, column: result.detail } });
    else if (result.type === "JOB") void navigate({ to: "/jobs/$id/{-$tab}", params: { id, tab: undefined } });
    else void navigate({ to: "/datasets/$id/{-$tab}", params: { id, tab: undefined } });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), options.length - 1);
      setAt(next);
      list.current?.querySelectorAll("[role=option]")[next]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") options[at]?.open();
    else return;
    event.preventDefault();
  };
  const option = (index: number) => ({
    role: "option" as const,
    id: `hit-${index}`,
    "aria-selected": index === at,
    className: `hit${index === at ? " is-on" : ""}`,
    onClick: () => options[index]?.open(),
    onPointerMove: () => setAt(index),
  });
  return (
    <Modal opened onClose={onClose} withCloseButton={false} size="lg" padding={0} title={null} aria-label="Search">
      <div className="palette" onKeyDown={onKeyDown}>
        <input
          data-autofocus
          role="combobox"
          aria-label="Search datasets, jobs and columns"
          aria-expanded="true"
          aria-controls="hits"
          aria-activedescendant={options[at] ? `hit-${at}` : undefined}
          placeholder="A name or half of it, a column, an owner, a tag"
          value={text}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <p className="palette-note" role="status">
          {!settled
            ? "Type to search; arrows choose, Enter opens."
            : search.error
              ? search.error.message
              : !search.data
                ? "Searching…"
                : `${plural(total, "hit")}${search.data.corrected ? `, for “${search.data.corrected}”` : ""}${search.data.capped ? " at least" : ""}`}
        </p>
        <div className="hits" id="hits" role="listbox" aria-label="Hits" ref={list}>
          {results.map((result, i) => (
            <div key={result.id} {...option(i)} title={result.id}>
              <KindMark id={result.id} />
              <span className="hit-text">
                <strong className="name">{names.get(result.id)}</strong>
                <small className="name">
                  {shortNamespace(result.namespace)} · {result.name}
                </small>
              </span>
              <span className="why">
                {result.matched === "name" ? result.type.toLowerCase() : result.matched}
                {result.matched !== "name" && result.detail && <b className="mono name">{result.detail}</b>}
              </span>
            </div>
          ))}
          {settled && total > results.length && results.length > 0 && (
            <div {...option(results.length)}>
              <span />
              <span className="hit-text">Show more: {plural(total - results.length, "hit")} not shown yet</span>
              <span />
            </div>
          )}
          {schedules.map(({ entity, description }, i) => (
            <div key={entity} {...option(firstSchedule + i)}>
              <span />
              <span className="hit-text">
                {entity} <small className="name">{description}</small>
              </span>
              <span className="why">schedule</span>
            </div>
          ))}
          {views.map(({ name, keep, address }, i) => (
            <div key={`${keep} ${address}`} {...option(firstView + i)} title={address}>
              <span />
              <span className="hit-text">{name}</span>
              <span className="why">saved view</span>
            </div>
          ))}
          {pages.map(([word], i) => (
            <div key={word} {...option(firstPage + i)}>
              <span />
              <span className="hit-text">{word}</span>
              <span className="why">page</span>
            </div>
          ))}
        </div>
      </div>
    </Modal>
  );
}
