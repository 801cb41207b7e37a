// The right-hand side: a dataset, a job, or one run of it.
import { useLineage } from "../api/queries.ts";
import type { Lineage } from "../api/types.ts";
import { Message, Trouble } from "../pages/message.tsx";
import { useUrl } from "../url.ts";
import { DatasetPanel } from "./dataset-panel.tsx";
import { JobPanel } from "./job-panel.tsx";
import { RunPanel } from "./run-panel.tsx";

export function Panel({ id, answer }: { id: string; answer: Lineage | undefined }) {
  const { asOf, run } = useUrl();
  const known = answer?.nodes.find((node) => node.id === id);
  return (
    <aside className="panel" aria-label="Details">
      {run ? (
        <RunPanel key={run} id={run} />
      ) : known ? (
        <Details type={known.type} reference={known} />
      ) : answer ? (
        <Elsewhere id={id} asOf={asOf} />
      ) : (
        <Message title="Loading…" />
      )}
    </aside>
  );
}

function Details({
  type,
  reference,
}: {
  type: "DATASET" | "JOB";
  reference: { id: string; namespace: string; name: string };
}) {
  return type === "DATASET" ? (
    <DatasetPanel key={reference.id} reference={reference} />
  ) : (
    <JobPanel key={reference.id} reference={reference} />
  );
}

/** Selected but not in the drawing (a parent job, an old link): a walk of no steps tells its namespace and name. */
function Elsewhere({ id, asOf }: { id: string; asOf: string | null }) {
  const self = useLineage({ node: id, direction: "both", depth: 0, columns: false, asOf });
  const node = self.isPlaceholderData ? undefined : self.data?.nodes.find((n) => n.id === id);
  if (node) return <Details type={node.type} reference={node} />;
  if (self.error) return <Trouble error={self.error} retry={() => void self.refetch()} />;
  return <Message title={self.isFetching ? "Loading…" : "Not known at this time"} />;
}
