// The advice, taken: on a copy of the example's database, with the statements of the two weeks after it run again. The figures are those of
// docs/explanation/prune.md.
import { count, percent } from "../../format.ts";
import { Section } from "../../parts/page.tsx";
import { Table } from "../../parts/table.tsx";
import proof from "./proof.json";

type Replay = (typeof proof.replays)[number];

const errors = proof.replays.reduce((sum, one) => sum + one.errors, 0);

const number = (id: string, header: string, value: (row: Replay) => number) => ({
  id,
  header,
  number: true,
  value,
  cell: (row: Replay) => count(value(row)),
});

export function Proof() {
  return (
    <Section
      title="How this rule was proven"
      beside={`${count(errors)} errors, ${percent(proof.bytes_found / proof.bytes_unused)} of the unused bytes found`}
    >
      <details>
        <summary>The replay of the example's warehouse</summary>
        <p>
          Headwater read {proof.read_days} days of a real PostgreSQL's log and gave this advice. On copies of the
          database each wave was dropped without CASCADE, and every statement of the next {proof.replayed_days} days ran
          again. It is a proof of the rule on one company, not of the advice above: <code>scripts/warehouse proof</code>{" "}
          repeats it.
        </p>
        <Table
          label="Replays"
          rows={proof.replays}
          keyOf={(row) => String(row.waves)}
          columns={[
            {
              id: "waves",
              header: "Waves done",
              value: (row) => row.waves,
              cell: (row) => (row.waves === 0 ? "none" : row.waves === 1 ? "1" : `1–${row.waves}`),
            },
            number("dropped", "Datasets dropped", (row) => row.dropped),
            number("run", "Statements run", (row) => row.run),
            number("removed", "Removed with the datasets", (row) => row.removed),
            number("errors", "Errors", (row) => row.errors),
          ]}
          empty={null}
        />
        <p className="soft">
          A reader that comes less often than a dataset was seen for is not known, nor one that reads a copy outside of
          the log: ask the owners before the last step.
        </p>
      </details>
    </Section>
  );
}
