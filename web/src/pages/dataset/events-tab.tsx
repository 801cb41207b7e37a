// Events of the runs that wrote it last, each with its receipt.
import { RunReceipts } from "../events/run-receipts.tsx";
import { Empty } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import type { TabProps } from "./tab-props.ts";

export function EventsTab({ dataset }: TabProps) {
  const runs = [...new Set(dataset.versions.flatMap((version) => (version.run_id ? [version.run_id] : [])))].slice(
    0,
    3,
  );
  if (runs.length === 0) return <Empty title="No event of a run that wrote it is known" />;
  return runs.map((run) => (
    <Section key={run} title={`Run ${run.slice(0, 8)}…`}>
      <RunReceipts run={run} />
    </Section>
  ));
}
