import { useAsk } from "../../api/queries.ts";
import { percent } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { eventWords } from "./alert-state.tsx";

/** The deadlines that rules declare, week by week. */
function Sla() {
  const sla = useAsk("/api/v2/rules/sla");
  if (!sla.data?.weeks.length) return null;
  return (
    <Section title="Deadlines by week">
      <Table
        label="Deadlines by week"
        rows={sla.data.weeks}
        keyOf={(one) => `${one.rule} ${one.week}`}
        columns={[
          { id: "rule", header: "Rule", wide: true, value: (one) => one.rule, cell: (one) => one.rule },
          { id: "week", header: "Week of", value: (one) => one.week, cell: (one) => one.week },
          { id: "due", header: "Due", number: true, value: (one) => one.due, cell: (one) => one.due },
          { id: "missed", header: "Missed", number: true, value: (one) => one.missed, cell: (one) => one.missed },
          { id: "met", header: "Met", number: true, value: (one) => one.share, cell: (one) => percent(one.share) },
          {
            id: "by",
            header: "Missed most by",
            minor: true,
            value: (one) => one.datasets.join(" "),
            cell: (one) => one.datasets.join(", "),
          },
        ]}
        empty={null}
      />
    </Section>
  );
}

export function RulesTab() {
  const held = useAsk("/api/v2/rules");
  return (
    <Answered of={held} lines={6}>
      {({ rules, files, versions, trouble, problems }) => (
        <>
          {(trouble ?? problems[0]) && (
            <p className="notice-line" role="alert">
              The server cannot look for what the rules watch: {trouble ?? problems.join("; ")}
            </p>
          )}
          <Table
            label="Rules"
            rows={rules}
            keyOf={(one) => one.name}
            columns={[
              { id: "name", header: "Rule", wide: true, value: (one) => one.name, cell: (one) => one.name },
              {
                id: "when",
                header: "When",
                value: (one) => one.when.join(" "),
                cell: (one) => one.when.map(eventWords).join(", "),
              },
              {
                id: "of",
                header: "Of",
                value: (one) => one.of.join(" "),
                cell: (one) => (
                  <span className="mono small">
                    {[...one.of, ...one.but.map((each) => `except ${each}`)].join(", ") || "everything"}
                  </span>
                ),
              },
              { id: "to", header: "To", value: (one) => one.to.join(" "), cell: (one) => one.to.join(", ") },
              {
                id: "since",
                header: "Since",
                minor: true,
                value: (one) => one.since,
                cell: (one) => <When at={one.since} />,
              },
              {
                id: "from",
                header: "From",
                minor: true,
                value: (one) => one.file,
                cell: (one) => <span className="mono small">{`${one.file}:${one.line}`}</span>,
              },
            ]}
            empty={
              <Empty title="No rule holds" command="headwater rules apply alerts.yaml">
                Write rules beside the code that they are about, and apply them in CI.
              </Empty>
            }
          />
          <Sla />
          {files.map((file) => (
            <Section key={file.name} title={file.name}>
              <pre className="code">{file.text}</pre>
            </Section>
          ))}
          {versions.length > 0 && (
            <Section title="Versions">
              <ul className="list">
                {versions.map((one) => (
                  <li key={one.version}>
                    version {one.version}, <When at={one.applied_at} /> by {one.applied_by}
                  </li>
                ))}
              </ul>
            </Section>
          )}
        </>
      )}
    </Answered>
  );
}
