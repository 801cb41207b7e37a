// Rules that make one dataset of several spellings, a try of them, and pairs that look like one.
import { useState } from "react";
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { Table } from "../../parts/table.tsx";

export function NamesTab() {
  const rules = useAsk("/api/v2/admin/identity");
  const near = useAsk("/api/v2/near-misses");
  return (
    <>
      <Section title="Rules about names">
        <Answered of={rules}>
          {({ rules: rows, behind }) => (
            <>
              {behind && (
                <p className="notice-line">Earlier records follow other rules still: run headwater server rebuild.</p>
              )}
              <Table
                label="Rules"
                rows={rows}
                keyOf={(rule) => `${rule.kind} ${rule.match} ${rule.namespace}`}
                columns={[
                  { id: "kind", header: "Kind", value: (rule) => rule.kind, cell: (rule) => rule.kind },
                  {
                    id: "match",
                    header: "What matches",
                    wide: true,
                    value: (rule) => rule.match,
                    cell: (rule) => <code>{rule.match}</code>,
                  },
                  { id: "to", header: "Becomes", value: (rule) => rule.to, cell: (rule) => <code>{rule.to}</code> },
                  {
                    id: "namespace",
                    header: "In",
                    value: (rule) => rule.namespace,
                    cell: (rule) => rule.namespace ?? "all",
                  },
                ]}
                empty={
                  <Empty title="No rule was set" command="headwater server identity --help">
                    Names are taken as events spell them, but for their spelling.
                  </Empty>
                }
              />
            </>
          )}
        </Answered>
      </Section>
      <Try />
      <Section title="Probably one dataset under two names">
        <Answered of={near}>
          {({ near_misses }) => (
            <Table
              label="Near misses"
              rows={near_misses}
              keyOf={(pair) => `${pair.read} ${pair.written}`}
              columns={[
                {
                  id: "read",
                  header: "Read, never written",
                  wide: true,
                  value: (pair) => pair.read,
                  cell: (pair) => <NodeLink id={pair.read} label={pair.read.slice(8)} />,
                },
                {
                  id: "written",
                  header: "Written, never read",
                  value: (pair) => pair.written,
                  cell: (pair) => <NodeLink id={pair.written} label={pair.written.slice(8)} />,
                },
              ]}
              empty={<p className="calm">No two names look like one dataset.</p>}
            />
          )}
        </Answered>
      </Section>
    </>
  );
}

function Try() {
  const [asked, setAsked] = useState<{ namespace: string; name: string } | null>(null);
  const answer = useAsk(
    "/api/v2/identity/try",
    { query: asked ?? { namespace: "", name: "" } },
    { enabled: asked !== null },
  );
  return (
    <Section title="Try a name">
      <form
        className="add"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          setAsked({ namespace: String(form.get("namespace")), name: String(form.get("name")) });
        }}
      >
        <input name="namespace" aria-label="Namespace" placeholder="namespace" required />
        <input name="name" aria-label="Name" placeholder="name" required />
        <button type="submit" className="button">
          Try
        </button>
      </form>
      {asked && (
        <Answered of={answer} lines={1}>
          {(found) => (
            <p>
              <code>{found.id}</code> <span className="soft">{found.known ? "is known" : "is not known"}</span>
              {found.stands_for && found.stands_for !== found.id && (
                <> and is shown as {<NodeLink id={found.stands_for} />}</>
              )}
            </p>
          )}
        </Answered>
      )}
    </Section>
  );
}
