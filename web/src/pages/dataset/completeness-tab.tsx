// How much of its lineage is known, and who disagrees about it.
import { useAsk } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Facts, Section } from "../../parts/page.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import type { TabProps } from "./tab-props.ts";

export function CompletenessTab({ dataset, asOf }: TabProps) {
  const around = useAsk("/api/v2/lineage", {
    query: { node: dataset.id, depth: 1, direction: "upstream", columns: true, as_of: asOf },
  });
  const conflicts = useAsk("/api/v2/conflicts", { query: { node: dataset.id, as_of: asOf } });
  return (
    <>
      <Section title="In one line">
        <p>{dataset.completeness.summary}</p>
        {dataset.completeness.reasons.length > 0 && (
          <ul>
            {dataset.completeness.reasons.map((reason) => (
              <li key={`${reason.job} ${reason.text}`}>
                {reason.text}
                {reason.job !== null && (
                  <>
                    {" "}
                    (<NodeLink id={reason.job} />)
                  </>
                )}
              </li>
            ))}
          </ul>
        )}
        {dataset.completeness.more_reasons > 0 && <p>{plural(dataset.completeness.more_reasons, "more reason")}</p>}
      </Section>
      <Section title="Column lineage">
        <Answered of={around}>
          {({ column_edges, edges }) => {
            const traced = new Set(
              column_edges.filter((edge) => edge.target === dataset.id).map((edge) => edge.target_field),
            );
            const known = dataset.fields.filter((field) => traced.has(field.name)).length;
            const untraced = dataset.fields.filter((field) => !traced.has(field.name));
            return (
              <Facts
                facts={[
                  ["Columns with a known origin", `${known} of ${dataset.fields.length}`],
                  ["Written by", plural(dataset.producers.length, "job")],
                  ["Declared only", plural(edges.filter((edge) => edge.origin !== "OBSERVED").length, "edge")],
                  [
                    "Without a known origin",
                    untraced.length > 0 && dataset.producers.length > 0 && (
                      <span key="u" className="mono">
                        {untraced.map((field) => field.name).join(", ")}
                      </span>
                    ),
                  ],
                ]}
              />
            );
          }}
        </Answered>
      </Section>
      <Section title="Who disagrees">
        <Answered of={conflicts}>
          {({ conflicts: rows }) => (
            <Table
              label="Conflicts"
              rows={rows}
              keyOf={(row) => `${row.kind} ${row.job} ${row.source} ${row.target}`}
              columns={[
                { id: "kind", header: "What", value: (row) => row.kind, cell: (row) => row.kind.replaceAll("_", " ") },
                {
                  id: "source",
                  header: "From",
                  value: (row) => row.source,
                  cell: (row) => <NodeLink id={row.source} />,
                },
                { id: "target", header: "To", value: (row) => row.target, cell: (row) => <NodeLink id={row.target} /> },
                {
                  id: "claims",
                  header: "Claims",
                  wide: true,
                  value: (row) => row.claims.map((claim) => `${claim.origin} ${claim.says}`).join("; "),
                  cell: (row) => (
                    <ul className="plain-list">
                      {row.claims.map((claim, i) => (
                        <li key={i}>
                          {claim.origin.toLowerCase().replaceAll("_", " ")} {claim.says.toLowerCase()},{" "}
                          <When at={claim.at} />
                        </li>
                      ))}
                    </ul>
                  ),
                },
              ]}
              empty={<Empty title="Nothing contradicts its lineage" />}
            />
          )}
        </Answered>
      </Section>
    </>
  );
}
