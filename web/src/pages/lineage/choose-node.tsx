// Lineage without a start: choose one.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { distinguish } from "../../names.ts";
import { Answered } from "../../parts/answered.tsx";
import { Empty } from "../../parts/message.tsx";
import { KindMark } from "../../parts/node-link.tsx";
import { Page, Section } from "../../parts/page.tsx";
import { When } from "../../parts/when.tsx";

export function ChooseNode() {
  const datasets = useAsk("/api/v2/datasets", { query: { limit: 40 } });
  return (
    <Page title="Lineage" lede="Choose where to start: press / and type a name, or take one that was updated lately.">
      <Section title="Updated lately">
        <Answered of={datasets}>
          {({ datasets: rows }) => {
            const names = distinguish(rows);
            return rows.length === 0 ? (
              <Empty title="No dataset is known yet" command="headwater up" />
            ) : (
              <ul className="list">
                {rows.map((row) => (
                  <li key={row.id}>
                    <Link className="node-link" to="/lineage/$node" params={{ node: row.id }} title={row.id}>
                      <KindMark id={row.id} />
                      <span className="name mono">{names.get(row.id)}</span>
                      <When at={"updated_at" in row ? row.updated_at : null} />
                    </Link>
                  </li>
                ))}
              </ul>
            );
          }}
        </Answered>
      </Section>
    </Page>
  );
}
