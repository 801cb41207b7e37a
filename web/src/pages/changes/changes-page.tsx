// What changed between two times: the graph, schemas, and what people said.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Answer } from "../../api/client.ts";
import { useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { PeopleChanges } from "./people-changes.tsx";

const route = getRouteApi("/changes");
const STEPS: readonly [word: string, days: number][] = [
  ["a day", 1],
  ["a week", 7],
  ["30 days", 30],
  ["a year", 365],
];

const utc = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

export function ChangesPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  // To the minute, so that the question stays the same while the page is open.
  const dayAgo = useMemo(() => utc(Math.floor(Date.now() / 60_000) * 60_000 - 86_400_000), []);
  const since = search.since ?? dayAgo;
  const until = search.until ?? search.asOf;
  const change = (patch: { since?: string; until?: string; namespace?: string }) =>
    void navigate({ to: ".", search: (now) => ({ ...now, ...patch }) as never });
  const difference = useAsk("/api/v2/lineage/diff", {
    query: { from: since, to: until, namespace: search.namespace, columns: true, max_nodes: 20_000 },
  });
  return (
    <Page
      title="What changed"
      lede="Between two times: what appeared, what went, what changed its columns, and what people said."
    >
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
          to, UTC
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
      <Answered of={difference} lines={6}>
        {(answer) => <Differences answer={answer} since={since} />}
      </Answered>
      <Section title="Changed by people">
        <PeopleChanges since={since} until={until} author={search.author} />
      </Section>
    </Page>
  );
}

function Differences({ answer, since }: { answer: Answer<"/api/v2/lineage/diff">; since: string }) {
  const { nodes, edges, column_edges, schemas, complete } = answer;
  const all = [...nodes.added, ...nodes.removed, ...schemas.map((one) => ({ id: one.dataset }))];
  const names = distinguish(all);
  const nothing =
    nodes.added.length +
      nodes.removed.length +
      edges.added.length +
      edges.removed.length +
      schemas.length +
      column_edges.changed.length ===
    0;
  return (
    <>
      {!complete && <p className="notice-line">One of the two graphs was cut: choose a namespace to see all of it.</p>}
      {nothing && <p className="calm">The graph is the same at both times.</p>}
      <Nodes title="Appeared" nodes={nodes.added} names={names} since={since} />
      <Nodes title="Went" nodes={nodes.removed} names={names} />
      {schemas.length > 0 && (
        <Section title="Columns changed" beside={plural(schemas.length, "dataset")}>
          <ul className="list">
            {schemas.map((one) => (
              <li key={one.dataset}>
                <NodeLink id={one.dataset} label={names.get(one.dataset)} tab="schema" />
                <ul className="diff">
                  {one.added.map((field) => (
                    <li key={`+${field.name}`} className="added">
                      + {field.name} <span className="soft">{field.type}</span>
                    </li>
                  ))}
                  {one.removed.map((field) => (
                    <li key={`-${field.name}`} className="gone">
                      − {field.name} <span className="soft">{field.type}</span>
                    </li>
                  ))}
                  {one.retyped.map((field) => (
                    <li key={`~${field.name}`} className="changed">
                      ~ {field.name}: {field.type_before} → {field.type_after}
                    </li>
                  ))}
                  {one.reordered && <li className="changed">~ the order of columns</li>}
                </ul>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Edges title="New edges" edges={edges.added} />
      <Edges title="Edges that went" edges={edges.removed} />
    </>
  );
}

function Nodes({
  title,
  nodes,
  names,
  since,
}: {
  title: string;
  nodes: readonly { id: string }[];
  names: ReadonlyMap<string, string>;
  since?: string;
}) {
  if (nodes.length === 0) return null;
  return (
    <Section title={title} beside={plural(nodes.length, "node")}>
      <ul className="list wide">
        {nodes.slice(0, 200).map((node) => (
          <li key={node.id}>
            <NodeLink id={node.id} label={names.get(node.id)} />
            {since && (
              <Link className="soft" to="/lineage/$node" params={{ node: node.id }} search={{ since }}>
                compare
              </Link>
            )}
          </li>
        ))}
      </ul>
      {nodes.length > 200 && (
        <p className="soft">{plural(nodes.length - 200, "more is", "more are")} not listed: choose a shorter time.</p>
      )}
    </Section>
  );
}

function Edges({ title, edges }: { title: string; edges: readonly { source: string; target: string }[] }) {
  if (edges.length === 0) return null;
  const names = distinguish(edges.flatMap((edge) => [{ id: edge.source }, { id: edge.target }]));
  return (
    <Section title={title} beside={plural(edges.length, "edge")}>
      <ul className="list wide">
        {edges.slice(0, 200).map((edge) => (
          <li key={`${edge.source} ${edge.target}`}>
            <NodeLink id={edge.source} label={names.get(edge.source)} />
            <span aria-label="to">→</span>
            <NodeLink id={edge.target} label={names.get(edge.target)} />
          </li>
        ))}
      </ul>
      {edges.length > 200 && <p className="soft">{plural(edges.length - 200, "more is", "more are")} not listed.</p>}
    </Section>
  );
}
