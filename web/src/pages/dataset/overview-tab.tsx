// What it is, who owns it, where it comes from and who reads it; what people say can be changed in place.
import { Link } from "@tanstack/react-router";
import { useAsk } from "../../api/queries.ts";
import { bytes, count, exact, plural } from "../../format.ts";
import { bareName } from "../../names.ts";
import { Marks, traitMarks } from "../../parts/marks.tsx";
import { NodeLink, NodeList, RunLink } from "../../parts/node-link.tsx";
import { Facts, Section } from "../../parts/page.tsx";
import { SlaWeeks } from "../../parts/sla-weeks.tsx";
import { When } from "../../parts/when.tsx";
import { Described } from "../metadata/described.tsx";
import type { TabProps } from "./tab-props.ts";

export function Overview({ dataset, reference }: TabProps) {
  const last = dataset.versions[0];
  const shown = useAsk("/api/v2/dashboards", { query: { shows: dataset.id, limit: 20 } });
  return (
    <div className="columns-2">
      <div>
        <Described kind="datasets" reference={reference} node={dataset} />
        <Section title="Facts">
          <Facts
            facts={[
              [
                "Namespace",
                <span key="n" className="mono">
                  {dataset.namespace}
                </span>,
              ],
              [
                "Name",
                <span key="m" className="mono">
                  {dataset.name}
                </span>,
              ],
              [
                "First seen",
                <span key="f" title={exact(dataset.first_seen)}>
                  <When at={dataset.first_seen} />
                </span>,
              ],
              ["Last event", <When key="u" at={dataset.updated_at} />],
              ["Columns", count(dataset.fields.length)],
              ["Versions", count(dataset.version_count)],
              ["Rows", last?.rows != null && count(last.rows)],
              ["Size", last?.bytes != null && bytes(last.bytes)],
              [
                "Lineage",
                <Link key="l" to="/datasets/$id/{-$tab}" params={{ id: bareName(dataset.id), tab: "completeness" }}>
                  {dataset.completeness.summary}
                </Link>,
              ],
              [
                "Traits",
                dataset.traits.length > 0 && <Marks key="t" marks={traitMarks(dataset.traits)} kind="datasets" />,
              ],
              ["Last written by", last?.run_id && <RunLink key="r" id={last.run_id} />],
              [
                "Other names",
                dataset.aliases.length > 0 && dataset.aliases.map((one) => <NodeLink key={one} id={one} />),
              ],
            ]}
          />
        </Section>
        <SlaWeeks of={dataset.id} />
        {dataset.inherited_tags.length > 0 && (
          <Section title="Tags from upstream">
            <ul className="list">
              {dataset.inherited_tags.map((one) => (
                <li key={`${one.tag} ${one.dataset}`}>
                  <span className="tag">{one.tag}</span>
                  <NodeLink id={one.dataset} />
                </li>
              ))}
            </ul>
          </Section>
        )}
      </div>
      <div>
        <Section title="Written by" beside={plural(dataset.producers.length, "job")}>
          <NodeList ids={dataset.producers} none="No job is known to write it." />
        </Section>
        <Section title="Read by" beside={plural(dataset.consumers.length, "job")}>
          <NodeList ids={dataset.consumers} none="No job is known to read it." />
        </Section>
        {shown.data && shown.data.total > 0 && (
          <Section title="Shown by" beside={plural(shown.data.total, "dashboard")}>
            <ul className="list">
              {shown.data.dashboards.map((one) => (
                <li key={one.id}>
                  <NodeLink id={one.id} label={one.title} />
                  <span className="soft">{[one.kind.toLowerCase(), ...one.owners].join(", ")}</span>
                </li>
              ))}
            </ul>
          </Section>
        )}
      </div>
    </div>
  );
}
