// Since yesterday: what appeared, went, changed its schema, got slower, or was changed by people. Each leads to its difference.
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useAsk } from "../../api/queries.ts";
import { duration, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";

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
        <Link to="/changes" search={{ since }}>
          What changed
        </Link>
      }
    >
      <Answered of={difference}>
        {({ nodes, edges, schemas }) => {
          const parts = [
            nodes.added.length && `${plural(nodes.added.length, "node")} appeared`,
            nodes.removed.length && `${plural(nodes.removed.length, "node")} went`,
            edges.added.length && `${plural(edges.added.length, "new edge")}`,
            edges.removed.length && `${plural(edges.removed.length, "edge")} went`,
            schemas.length && `${plural(schemas.length, "schema")} changed`,
          ].filter(Boolean);
          return parts.length ? <p>{parts.join(" · ")}</p> : <p className="calm">The graph is as it was yesterday.</p>;
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
