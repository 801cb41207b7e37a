// Teams and products, as tags name them (`team:…`, `product:…`): what is theirs, and which depend on which by their schedules.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { count } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";
import { Table } from "../../parts/table.tsx";

const KEYS = ["team", "product"] as const;

export function Teams() {
  const datasets = useAsk("/api/v2/datasets", { query: { limit: 0, facets: true } });
  const jobs = useAsk("/api/v2/jobs", { query: { limit: 0, facets: true } });
  return (
    <Answered of={datasets}>
      {({ facets }) => (
        <>
          {KEYS.map((key) => (
            <TagValues key={key} word={key} datasets={facets?.tag ?? {}} jobs={jobs.data?.facets?.tag ?? {}} />
          ))}
        </>
      )}
    </Answered>
  );
}

interface Props {
  word: (typeof KEYS)[number];
  datasets: Record<string, number>;
  jobs: Record<string, number>;
}

function TagValues({ word, datasets, jobs }: Props) {
  const tags = [...new Set([...Object.keys(datasets), ...Object.keys(jobs)])]
    .filter((tag) => tag.toLowerCase().startsWith(`${word}:`))
    .sort();
  const among = useAsk("/api/v2/entity-graph", { query: { group: word } }, { enabled: tags.length > 0 });
  const title = word === "team" ? "Teams" : "Products";
  const counted = (kind: "datasets" | "jobs", tag: string, n: number) => (
    <Link to="/catalogue/$kind" params={{ kind }} search={{ tag }}>
      {count(n)}
    </Link>
  );
  return (
    <Section title={title}>
      <Table
        label={title}
        rows={tags.map((tag) => ({ tag, datasets: datasets[tag] ?? 0, jobs: jobs[tag] ?? 0 }))}
        keyOf={(row) => row.tag}
        columns={[
          {
            id: "name",
            header: title.slice(0, -1),
            wide: true,
            value: (row) => row.tag,
            cell: (row) => (
              <Link to="/groups/$key/$name" params={{ key: word, name: row.tag.slice(word.length + 1) }}>
                {row.tag.slice(word.length + 1)}
              </Link>
            ),
          },
          {
            id: "datasets",
            header: "Datasets",
            number: true,
            value: (row) => row.datasets,
            cell: (row) => counted("datasets", row.tag, row.datasets),
          },
          {
            id: "jobs",
            header: "Jobs",
            number: true,
            value: (row) => row.jobs,
            cell: (row) => counted("jobs", row.tag, row.jobs),
          },
        ]}
        empty={<Empty title={`No ${word} is named yet`} command={`headwater tag DATASET ${word}:NAME`} />}
      />
      {among.data && among.data.edges.length > 0 && (
        <>
          <h3>Who needs whom, by what schedules declare</h3>
          <ul className="list" aria-label={`Which ${word}s depend on which`}>
            {among.data.edges.map((edge) => (
              <li key={`${edge.upstream} ${edge.downstream}`}>
                <span>
                  <b>{edge.downstream}</b> needs <b>{edge.upstream}</b>
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </Section>
  );
}
