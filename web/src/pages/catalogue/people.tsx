// Who owns what, and how much of it: from events and from what people said.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { count } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { type Column, Table } from "../../parts/table.tsx";

interface Row {
  name: string;
  datasets: number;
  jobs: number;
}

export function CountedBy({ facet, none }: { facet: "owner" | "tag"; none: React.ReactNode }) {
  const datasets = useAsk("/api/v2/datasets", { query: { limit: 0, facets: true } });
  const jobs = useAsk("/api/v2/jobs", { query: { limit: 0, facets: true } });
  const word = facet === "owner" ? "Owner" : "Tag";
  const columns: Column<Row>[] = [
    { id: "name", header: word, wide: true, value: (row) => row.name, cell: (row) => <strong>{row.name}</strong> },
    {
      id: "datasets",
      header: "Datasets",
      number: true,
      value: (row) => row.datasets,
      cell: (row) => (
        <Link to="/catalogue/$kind" params={{ kind: "datasets" }} search={{ [facet]: row.name }}>
          {count(row.datasets)}
        </Link>
      ),
    },
    {
      id: "jobs",
      header: "Jobs",
      number: true,
      value: (row) => row.jobs,
      cell: (row) => (
        <Link to="/catalogue/$kind" params={{ kind: "jobs" }} search={{ [facet]: row.name }}>
          {count(row.jobs)}
        </Link>
      ),
    },
  ];
  return (
    <Answered of={datasets}>
      {(answer) => {
        const ofDatasets = answer.facets?.[facet] ?? {};
        const ofJobs = jobs.data?.facets?.[facet] ?? {};
        const rows = [...new Set([...Object.keys(ofDatasets), ...Object.keys(ofJobs)])]
          .map((name) => ({ name, datasets: ofDatasets[name] ?? 0, jobs: ofJobs[name] ?? 0 }))
          .sort((a, b) => b.datasets + b.jobs - a.datasets - a.jobs || (a.name < b.name ? -1 : 1));
        return <Table label={`${word}s`} columns={columns} rows={rows} keyOf={(row) => row.name} empty={none} />;
      }}
    </Answered>
  );
}

export function People() {
  return (
    <CountedBy
      facet="owner"
      none={
        <Empty title="Nothing has an owner yet" command="headwater own DATASET --owner ana">
          Owners come from events, or from people: on a dataset's page, or by this command.
        </Empty>
      }
    />
  );
}
