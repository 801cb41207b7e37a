// Where one subject's data may be: the places in the order of deletion. The value of the subject is asked for nowhere.
import { useState } from "react";
import { useSend } from "../../api/queries.ts";
import { plural } from "../../format.ts";
import { NodeLink } from "../../parts/node-link.tsx";
import { Section } from "../../parts/page.tsx";
import { Table } from "../../parts/table.tsx";
import { Refused } from "../../parts/refused.tsx";

interface Place {
  order: number;
  dataset: string;
  columns: { column: string | null; certain: boolean; is_key: boolean }[];
  action: string;
  jobs: string[];
  instances: string[];
  versions: { total: number };
  owners: string[];
  before: string[];
  delete: string | null;
  then: string[];
  prove: string[];
}

interface Report {
  key: string;
  places: Place[];
  make_again: string[];
  hidden_columns: string[];
  elsewhere: string[];
}

export function Deletion() {
  const plan = useSend("post", "/api/v2/privacy/deletion");
  const [key, setKey] = useState("");
  const report = plan.data && (JSON.parse(plan.data.document) as Report);
  return (
    <Section title="Delete a subject">
      <form
        className="add"
        onSubmit={(event) => {
          event.preventDefault();
          plan.mutate({ body: { key } });
        }}
      >
        <input
          aria-label="Column that names the subject"
          placeholder="column that names the subject, such as customer_id"
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
        />
        <button type="submit" className="button" disabled={plan.isPending || !key.trim()}>
          Where may it be
        </button>
      </form>
      <Refused error={plan.error} />
      {report && <Places report={report} />}
    </Section>
  );
}

function Places({ report }: { report: Report }) {
  return (
    <>
      <Table
        label="Places of the subject"
        rows={report.places}
        keyOf={(one) => one.dataset}
        pageSize={200}
        columns={[
          { id: "order", header: "Order", number: true, value: (one) => one.order, cell: (one) => one.order },
          {
            id: "dataset",
            header: "Dataset",
            wide: true,
            value: (one) => one.dataset,
            cell: (one) => <NodeLink id={one.dataset} />,
          },
          {
            id: "columns",
            header: "Columns",
            value: (one) => one.columns.length,
            cell: (one) =>
              one.columns.map((each) => `${each.column ?? "any column"}${each.certain ? "" : " (perhaps)"}`).join(", "),
          },
          { id: "do", header: "Do", value: (one) => one.action, cell: (one) => one.action },
          {
            id: "by",
            header: "Statement",
            minor: true,
            value: (one) => one.delete,
            cell: (one) =>
              [...one.before, one.delete, ...one.then].map(
                (text) =>
                  text && (
                    <code key={text} className="small">
                      {text};
                    </code>
                  ),
              ),
          },
          {
            id: "versions",
            header: "Versions",
            number: true,
            minor: true,
            value: (one) => one.versions.total,
            cell: (one) => one.versions.total,
          },
          {
            id: "owners",
            header: "Owners",
            minor: true,
            value: (one) => one.owners.join(" "),
            cell: (one) => one.owners.join(", "),
          },
        ]}
        empty={null}
      />
      {report.make_again.length > 0 && <p>Then run again, in this order: {report.make_again.join(", ")}.</p>}
      <p className="soft">
        {plural(report.hidden_columns.length, "column holds", "columns hold")} only a hash or a mask of it. The lineage
        does not know:
      </p>
      <ul className="list">
        {report.elsewhere.map((one) => (
          <li key={one} className="soft">
            {one}
          </li>
        ))}
      </ul>
    </>
  );
}
