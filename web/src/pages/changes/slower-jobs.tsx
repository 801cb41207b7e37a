// Jobs whose runs take longer since a point in this time, the one that costs most first.
import type { Answer } from "../../api/client.ts";
import { count, duration } from "../../format.ts";
import { Empty } from "../../parts/message.tsx";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";

export function SlowerJobs({ rows }: { rows: Answer<"/api/v2/slower">["slower"] }) {
  return (
    <Table
      label="Jobs that got slower"
      rows={rows}
      keyOf={(row) => row.job}
      columns={[
        {
          id: "job",
          header: "Job",
          wide: true,
          value: (row) => row.job,
          cell: (row) => <NodeLink id={row.job} tab="durations" />,
        },
        {
          id: "since",
          header: "Since",
          value: (row) => row.since,
          cell: (row) => (
            <RunLink id={row.first_run}>
              <When at={row.since} />
            </RunLink>
          ),
        },
        {
          id: "before",
          header: "Before",
          number: true,
          value: (row) => row.before_ms,
          cell: (row) => duration(row.before_ms),
        },
        {
          id: "after",
          header: "After",
          number: true,
          value: (row) => row.after_ms,
          cell: (row) => duration(row.after_ms),
        },
        {
          id: "factor",
          header: "Times",
          number: true,
          value: (row) => row.factor,
          cell: (row) => (row.factor === null ? "–" : `× ${row.factor.toFixed(1)}`),
        },
        {
          id: "runs",
          header: "Runs before, after",
          number: true,
          minor: true,
          value: (row) => `${row.runs_before}, ${row.runs_after}`,
          cell: (row) => `${count(row.runs_before)}, ${count(row.runs_after)}`,
        },
        {
          id: "sure",
          header: "Sure",
          number: true,
          minor: true,
          value: (row) => row.confidence,
          cell: (row) => `${Math.round(row.confidence * 100)} %`,
        },
      ]}
      empty={
        <Empty title="No job got slower">A change needs enough runs before and after it to be told from chance.</Empty>
      }
    />
  );
}
