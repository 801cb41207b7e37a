import { useAsk } from "../../api/queries.ts";
import { percent } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { SlaWeeks } from "../../parts/sla-weeks.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { eventWords } from "./alert-state.tsx";

function Selectors({ of, but }: { of: readonly string[]; but: readonly string[] }) {
  return (
    <span className="mono small">{[...of, ...but.map((each) => `except ${each}`)].join(", ") || "everything"}</span>
  );
}

export function RulesTab() {
  const held = useAsk("/api/v2/rules");
  return (
    <Answered of={held} lines={6}>
      {({ rules, slas, files, versions, trouble, problems }) => (
        <>
          {trouble && (
            <p className="notice-line" role="alert">
              The server cannot look for what the rules watch: {trouble}
            </p>
          )}
          {problems.length > 0 && (
            <p className="notice-line" role="alert">
              The server does not look for what these say, until they are mended and applied again:{" "}
              {problems.join("; ")}
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
                cell: (one) => <Selectors of={one.of} but={one.but} />,
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
          {slas.length > 0 && (
            <Section title="SLAs">
              <Table
                label="SLAs"
                rows={slas}
                keyOf={(one) => one.name}
                columns={[
                  { id: "name", header: "SLA", wide: true, value: (one) => one.name, cell: (one) => one.name },
                  {
                    id: "of",
                    header: "Of",
                    value: (one) => one.of.join(" "),
                    cell: (one) => <Selectors of={one.of} but={one.but} />,
                  },
                  { id: "by", header: "Deadline", value: (one) => one.deadline, cell: (one) => one.deadline },
                  {
                    id: "goal",
                    header: "Goal",
                    number: true,
                    value: (one) => one.goal,
                    cell: (one) => (one.goal === null ? "none" : percent(one.goal)),
                  },
                ]}
                empty={null}
              />
            </Section>
          )}
          <SlaWeeks />
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
