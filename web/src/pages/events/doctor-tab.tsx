// What is odd about the lineage as a whole: disagreements, claims that no run bears out, silent runs.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { count, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Command, Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";

export function DoctorTab() {
  const perspectives = useAsk("/api/v2/perspectives", { query: { limit: 100 } });
  const conflicts = useAsk("/api/v2/conflicts", { query: { limit: 100 } });
  const stale = useAsk("/api/v2/stale-lineage");
  const stalled = useAsk("/api/v2/runs", { query: { stalled: true, limit: 1 } });
  return (
    <>
      <Section title="Silent runs">
        <Answered of={stalled} lines={1}>
          {({ total }) =>
            total === 0 ? (
              <p className="calm">No run fell silent.</p>
            ) : (
              <p>
                <Link to="/catalogue/$kind" params={{ kind: "runs" }} search={{ stalled: true }}>
                  {plural(total, "run")} fell silent
                </Link>
              </p>
            )
          }
        </Answered>
      </Section>
      <Section title="No longer as they used to report">
        <Answered of={stale}>
          {({ sources, cut }) => (
            <>
              <Table
                label="Stale lineage"
                rows={sources}
                keyOf={(one) => `${one.kind} ${one.id} ${one.cause}`}
                columns={[
                  {
                    id: "id",
                    header: "Who",
                    wide: true,
                    value: (one) => one.id,
                    cell: (one) =>
                      one.id.startsWith("job:") ? <NodeLink id={one.id} /> : <span className="name">{one.id}</span>,
                  },
                  { id: "text", header: "What", wide: true, value: (one) => one.text, cell: (one) => one.text },
                  { id: "since", header: "Since", value: (one) => one.since, cell: (one) => <When at={one.since} /> },
                  {
                    id: "datasets",
                    header: "Datasets",
                    number: true,
                    value: (one) => one.datasets.length,
                    cell: (one) => count(one.datasets.length),
                  },
                  {
                    id: "look",
                    header: "Look",
                    minor: true,
                    value: (one) => one.look,
                    cell: (one) => (one.look ? <Command text={one.look} /> : "–"),
                  },
                ]}
                empty={<p className="calm">Every producer, query log and job reports as it used to.</p>}
              />
              {cut && <p className="soft">More were not looked at.</p>}
            </>
          )}
        </Answered>
      </Section>
      <Section title="Who reports which edges">
        <Answered of={perspectives}>
          {({ perspectives: rows, agreed, total, disagreements, edges }) => (
            <>
              <p>
                {count(agreed)} of {plural(total, "edge")} agreed
                {Object.entries(disagreements).map(([key, n]) => (n ? `, ${n} ${key.replaceAll("_", " ")}` : ""))}.
              </p>
              <Table
                label="Perspectives"
                rows={rows}
                keyOf={(one) => one.name}
                columns={[
                  { id: "name", header: "Reported by", wide: true, value: (one) => one.name, cell: (one) => one.name },
                  {
                    id: "jobs",
                    header: "Jobs",
                    number: true,
                    value: (one) => one.jobs,
                    cell: (one) => count(one.jobs),
                  },
                  {
                    id: "edges",
                    header: "Edges",
                    number: true,
                    value: (one) => one.edges,
                    cell: (one) => count(one.edges),
                  },
                  {
                    id: "alone",
                    header: "Only by it",
                    number: true,
                    value: (one) => one.alone,
                    cell: (one) => count(one.alone),
                  },
                ]}
                empty={<Empty title="No edge is known yet" />}
              />
              {edges.some((edge) => edge.disagreement) && (
                <ul className="list wide">
                  {edges
                    .filter((edge) => edge.disagreement)
                    .map((edge) => (
                      <li key={`${edge.source} ${edge.target}`}>
                        <NodeLink id={edge.source} /> → <NodeLink id={edge.target} />
                        <small className="soft">{edge.disagreement?.replaceAll("_", " ")}</small>
                      </li>
                    ))}
                </ul>
              )}
            </>
          )}
        </Answered>
      </Section>
      <Section title="Claims that contradict each other">
        <Answered of={conflicts}>
          {({ conflicts: rows, hidden }) => (
            <>
              <Table
                label="Conflicts"
                rows={rows}
                keyOf={(row) => `${row.kind} ${row.job} ${row.source} ${row.target}`}
                columns={[
                  {
                    id: "kind",
                    header: "What",
                    value: (row) => row.kind,
                    cell: (row) => row.kind.replaceAll("_", " "),
                  },
                  { id: "job", header: "Job", value: (row) => row.job, cell: (row) => <NodeLink id={row.job} /> },
                  {
                    id: "source",
                    header: "From",
                    wide: true,
                    value: (row) => row.source,
                    cell: (row) => <NodeLink id={row.source} />,
                  },
                  {
                    id: "target",
                    header: "To",
                    value: (row) => row.target,
                    cell: (row) => <NodeLink id={row.target} />,
                  },
                ]}
                empty={<p className="calm">No claim contradicts another.</p>}
              />
              {hidden > 0 && <p className="soft">{plural(hidden, "more is", "more are")} not listed.</p>}
            </>
          )}
        </Answered>
      </Section>
      <Section title="More">
        <p>Spools, dead letters and connections are on the machines that send: look there.</p>
        <Command text="headwater doctor" /> <Command text="headwater server replay --help" />
      </Section>
    </>
  );
}
