// Since yesterday: what appeared, went, changed its schema, got slower, or was changed by people. Each leads to its difference.
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useAsk } from "../../api/queries.ts";
import { duration, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { distinguish } from "../../names.ts";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { StateMark } from "../../parts/state.tsx";

export function Since() {
  // To the hour, so that the question stays the same for a while and its answer can be kept.
  const since = useMemo(() => {
    const at = new Date(Date.now() - 86_400_000);
    at.setUTCMinutes(0, 0, 0);
    return at.toISOString().replace(/\.\d+Z$/, "Z");
  }, []);
  const difference = useAsk("/api/v2/lineage/diff", { query: { from: since, max_nodes: 2000 } });
  const slower = useAsk("/api/v2/slower", { query: { since, limit: 5 } });
  return (
    <Section
      title="Since yesterday"
      beside={
        <Link to="/changes/{-$tab}" search={{ since }}>
          What changed
        </Link>
      }
    >
      <Answered of={difference}>
        {({ nodes, edges, schemas }) => {
          const of = (nodes: readonly { id: string }[], kind: string) =>
            nodes.filter(({ id }) => id.startsWith(`${kind}:`));
          const changed = schemas.map(({ dataset }) => ({ id: dataset }));
          const lines = [
            { what: "dataset", word: "gone", state: "went", ids: of(nodes.removed, "dataset") },
            { what: "job", word: "gone", state: "went", ids: of(nodes.removed, "job") },
            { what: "dataset", word: "with other columns", state: "late", ids: changed, tab: "schema" },
            { what: "new dataset", word: "", state: "appeared", ids: of(nodes.added, "dataset") },
            { what: "new job", word: "", state: "appeared", ids: of(nodes.added, "job") },
          ].filter(({ ids }) => ids.length > 0);
          const moved = [
            edges.added.length && `${plural(edges.added.length, "edge")} appeared`,
            edges.removed.length && `${plural(edges.removed.length, "edge")} went`,
          ].filter(Boolean);
          if (lines.length + moved.length === 0) return <p className="calm">The graph is as it was yesterday.</p>;
          return (
            <ul className="list" aria-label="What changed since yesterday">
              {lines.map((line) => (
                <Named key={line.what + line.word} {...line} />
              ))}
              {moved.length > 0 && (
                <li>
                  <Link to="/changes/{-$tab}" params={{ tab: "edges" }} search={{ since }}>
                    {moved.join(", ")}
                  </Link>
                </li>
              )}
            </ul>
          );
        }}
      </Answered>
      {slower.data && slower.data.slower.length > 0 && (
        <ul className="list">
          {slower.data.slower.map((one) => (
            <li key={one.job}>
              <NodeLink id={one.job} tab="durations" />
              <small className="soft">
                slower: {duration(one.before_ms)} → {duration(one.after_ms)}
              </small>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

const NAMED = 4;

/** So many of a kind, the first few by name. */
function Named(line: { what: string; word: string; state: string; ids: readonly { id: string }[]; tab?: string }) {
  const first = line.ids.slice(0, NAMED);
  const names = distinguish(first);
  return (
    <li>
      <span className="node-link">
        <StateMark state={line.state} />
        {plural(line.ids.length, line.what)} {line.word}
      </span>
      <span className="names">
        {first.map(({ id }) => (
          <NodeLink key={id} id={id} label={names.get(id)} tab={line.tab} />
        ))}
        {line.ids.length > NAMED && <small className="soft">and {line.ids.length - NAMED} more</small>}
      </span>
    </li>
  );
}
