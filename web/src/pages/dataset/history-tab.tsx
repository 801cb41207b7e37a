// Who wrote it, what people changed about it, and which facets events replaced.
import { useAsk } from "../../api/queries.ts";
import type { components } from "../../api/schema.d.ts";
import { bytes, count, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { PeopleChanges } from "../changes/people-changes.tsx";
import type { TabProps } from "./tab-props.ts";

type Update = components["schemas"]["Update"];

const WRITES: Column<Update>[] = [
  { id: "at", header: "When", value: (one) => one.at, cell: (one) => <When at={one.at} /> },
  { id: "kind", header: "What", value: (one) => one.kind, cell: (one) => one.kind.replaceAll("_", " ").toLowerCase() },
  {
    id: "job",
    header: "Job",
    wide: true,
    value: (one) => one.job,
    cell: (one) => (one.job ? <NodeLink id={one.job} /> : "–"),
  },
  { id: "by", header: "By", minor: true, value: (one) => one.by, cell: (one) => one.by ?? "–" },
  {
    id: "rows",
    header: "Rows",
    number: true,
    value: (one) => one.rows,
    cell: (one) => count(one.rows),
  },
  {
    id: "bytes",
    header: "Size",
    number: true,
    minor: true,
    value: (one) => one.bytes,
    cell: (one) => bytes(one.bytes),
  },
  {
    id: "run",
    header: "Run",
    minor: true,
    value: (one) => one.run,
    cell: (one) => (one.run ? <RunLink id={one.run} /> : "–"),
  },
];

export function HistoryTab({ dataset, reference }: TabProps) {
  const facets = useAsk("/api/v2/datasets/{namespace}/{name}/facets", { path: reference });
  const log = useAsk("/api/v2/update-log", { query: { node: dataset.id, limit: 100 } });
  return (
    <>
      <Section title="Written, write by write">
        <Answered of={log}>
          {({ updates, total, cut }) => (
            <>
              <Table
                label="Writes"
                file={`${dataset.label} writes`}
                rows={updates}
                keyOf={(one) => `${one.at} ${one.version} ${one.run}`}
                columns={WRITES}
                empty={<p className="soft">No write of it is recorded.</p>}
              />
              {(cut || total > updates.length) && (
                <p className="soft">
                  The last {updates.length} of {count(total)}
                  {cut ? ", and more that were not looked at" : ""}.
                </p>
              )}
            </>
          )}
        </Answered>
      </Section>
      <Section title="Changed by people">
        <PeopleChanges target={dataset.id} />
      </Section>
      <Section title="Changed by events">
        <Answered of={facets}>
          {({ facets: all }) => (
            <ul className="list">
              {all.map((facet) => (
                <li key={facet.name}>
                  <span className="mono">{facet.name}</span>
                  <span className="soft">{plural(facet.bodies.length, "value")} since </span>
                  <When at={facet.bodies.at(-1)?.first_at} />
                  {facet.bodies[0]?.changes && facet.bodies[0].changes.length > 0 && (
                    <ul className="diff">
                      {facet.bodies[0].changes.slice(0, 8).map((change) => (
                        <li key={change.path} className={change.op === "removed" ? "gone" : change.op}>
                          {change.op} {change.path}
                        </li>
                      ))}
                    </ul>
                  )}
                </li>
              ))}
            </ul>
          )}
        </Answered>
      </Section>
    </>
  );
}
