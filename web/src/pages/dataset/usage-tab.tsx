// Who reads it: people, services, dashboards, pipelines, as query logs tell.
import { useAsk } from "../../api/queries.ts";
import { count } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { BarList } from "../../parts/bar-list.tsx";
import { Empty } from "../../parts/message.tsx";
import { NodeLink } from "../../parts/node-link.tsx";
import { Facts, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import type { TabProps } from "./tab-props.ts";

export function UsageTab({ dataset }: TabProps) {
  const usage = useAsk("/api/v2/usage", { query: { node: dataset.id } });
  return (
    <Answered of={usage}>
      {({ datasets: [one], jobs }) => (
        <>
          {one && (
            <>
              <Section title="Use">
                <Facts
                  facts={[
                    ["State", <State key="s" state={one.status} />],
                    ["Reads", count(one.reads)],
                    ["Writes", count(one.writes)],
                    ["Readers", count(one.readers)],
                    ["Of them people", count(one.people)],
                    ["Days with a read", count(one.active_days)],
                    ["Last read", <When key="r" at={one.last_read_at} />],
                    ["Last read by a person", <When key="p" at={one.last_read_by_person_at} />],
                  ]}
                />
              </Section>
              <Section title="Reads by">
                <BarList
                  bars={[
                    ["people", one.reads_by_people],
                    ["services", one.reads_by_services],
                    ["dashboards", one.reads_by_bi],
                    ["pipelines", one.reads_by_pipelines],
                    ["unknown", one.reads_by_unknown],
                  ]}
                />
              </Section>
              <Section title="Readers">
                <Table
                  label="Readers"
                  rows={one.top_readers}
                  keyOf={(reader) => reader.actor}
                  columns={[
                    {
                      id: "actor",
                      header: "Reader",
                      wide: true,
                      value: (reader) => reader.actor,
                      cell: (reader) => reader.actor,
                    },
                    { id: "kind", header: "Kind", value: (reader) => reader.kind, cell: (reader) => reader.kind },
                    {
                      id: "reads",
                      header: "Reads",
                      number: true,
                      value: (reader) => reader.reads,
                      cell: (reader) => count(reader.reads),
                    },
                    {
                      id: "last",
                      header: "Last read",
                      value: (reader) => reader.last_read_at,
                      cell: (reader) => <When at={reader.last_read_at} />,
                    },
                  ]}
                  empty={<p className="soft">No reader is known by name.</p>}
                />
              </Section>
            </>
          )}
          {jobs.length > 0 && (
            <Section title="Jobs that read or write it, by their events">
              <Table
                label="Jobs that read or write it"
                rows={jobs}
                keyOf={(job) => `${job.does} ${job.id}`}
                columns={[
                  {
                    id: "job",
                    header: "Job",
                    wide: true,
                    value: (job) => job.label,
                    cell: (job) => <NodeLink id={job.id} label={job.label} />,
                  },
                  { id: "does", header: "Does", value: (job) => job.does, cell: (job) => job.does },
                  {
                    id: "runs",
                    header: "Runs in 30 days",
                    number: true,
                    value: (job) => job.runs,
                    cell: (job) => count(job.runs),
                  },
                  {
                    id: "last",
                    header: "Last",
                    value: (job) => job.last_at,
                    cell: (job) => <When at={job.last_at} />,
                  },
                  {
                    id: "owners",
                    header: "Owners",
                    minor: true,
                    value: (job) => job.owners.join(", "),
                    cell: (job) => job.owners.join(", ") || "–",
                  },
                ]}
                empty={null}
              />
            </Section>
          )}
          {!one && (
            <Empty title="Its use was not measured" command="headwater sync query-log --help">
              How often people and tools read it comes from a warehouse's query log.
            </Empty>
          )}
        </>
      )}
    </Answered>
  );
}
