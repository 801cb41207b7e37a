// What breaks the applied policies now, with the way that is the evidence.
import { useAsk } from "../../api/queries.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";

export function Policies() {
  const held = useAsk("/api/v2/privacy/policies");
  return (
    <Section title="Policies">
      <Answered of={held}>
        {({ version, violations, problems }) => (
          <>
            {problems.length > 0 && (
              <p className="notice-line" role="alert">
                The server does not check what these say, until they are mended and applied again: {problems.join("; ")}
              </p>
            )}
            <Table
              label="Violations of policies"
              rows={violations}
              keyOf={(one) => `${one.policy} ${one.dataset} ${one.column}`}
              columns={[
                { id: "policy", header: "Policy", value: (one) => one.policy, cell: (one) => one.policy },
                {
                  id: "dataset",
                  header: "Broken in",
                  wide: true,
                  value: (one) => one.dataset,
                  cell: (one) => <NodeLink id={one.dataset} />,
                },
                { id: "column", header: "Column", value: (one) => one.column, cell: (one) => one.column },
                { id: "since", header: "Since", value: (one) => one.since, cell: (one) => <When at={one.since} /> },
                {
                  id: "way",
                  header: "By way of",
                  minor: true,
                  value: (one) => one.path.join(" "),
                  cell: (one) => (
                    <span className="small">{one.path.map((each) => each.split(":").at(-1)).join(" → ")}</span>
                  ),
                },
              ]}
              empty={
                version === null ? (
                  <Empty title="No policies are applied" command="headwater privacy apply policies.yaml">
                    The server checks applied policies as events arrive; what breaks one is an incident.
                  </Empty>
                ) : (
                  <p className="soft">Nothing breaks the applied policies (version {version}).</p>
                )
              }
            />
          </>
        )}
      </Answered>
    </Section>
  );
}
