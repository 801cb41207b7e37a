// What was marked wrong: by whom, about what, the parts and versions that are wrong because of it still, and what is spared.
import { Link } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { plural } from "../../format.ts";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Facts, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { VerdictRepair } from "./verdict-repair.tsx";

type One = Answer<"/api/v2/incidents/{incident}">;

export function Verdict({ answer }: { answer: One }) {
  const { incident, roots, origins, entities, reads, unaffected } = answer;
  return (
    <>
      {incident.state !== "retracted" && <VerdictRepair incident={incident} />}
      <Section title="The verdict">
        <Facts
          facts={[
            ["Mended", incident.mended && "yes: nothing is wrong because of it any more"],
            ["Opened", <When key="o" at={incident.opened_at} full />],
            ["By", incident.opened_by],
            ["Fixed from", incident.fixed_at && <When key="f" at={incident.fixed_at} full />],
            ["Closed", incident.closed_at && <When key="c" at={incident.closed_at} full />],
            ["Note", incident.note || null],
            ["Parts still wrong", incident.wrong],
            ["Opened about", <Causes key="r" roots={roots} origins={origins} />],
          ]}
        />
      </Section>
      {entities.length > 0 && (
        <Section title="Parts by schedule" beside={plural(entities.length, "dataset")}>
          <Table
            label="Parts by schedule"
            rows={entities}
            keyOf={(one) => one.entity}
            columns={[
              {
                id: "entity",
                header: "Dataset",
                value: (one) => one.entity,
                cell: (one) => (
                  <Link className="mono" to="/schedules/$entity" params={{ entity: one.entity }}>
                    {one.entity}
                  </Link>
                ),
              },
              {
                id: "tainted",
                header: "Wrong",
                wide: true,
                value: (one) => one.tainted.join(" "),
                cell: (one) => <Ranges ranges={one.tainted} />,
              },
              {
                id: "inherited",
                header: "Wrong upstream",
                value: (one) => one.inherited.join(" "),
                cell: (one) => <Ranges ranges={one.inherited} />,
              },
              {
                id: "repaired",
                header: "Right again",
                value: (one) => one.repaired.join(" "),
                cell: (one) => <Ranges ranges={one.repaired} />,
              },
            ]}
            empty={null}
          />
        </Section>
      )}
      {reads && <ByReads reads={reads} />}
      {unaffected.length > 0 && (
        <Section title="Spared" beside="They use other columns">
          <p className="mono">{unaffected.map((one) => one.entity).join(", ")}</p>
        </Section>
      )}
    </>
  );
}

function Causes({ roots, origins }: { roots: One["roots"]; origins: One["origins"] }) {
  return (
    <span className="mono">
      {Object.entries(roots).map(([entity, instances]) => (
        <span key={entity} className="name">
          {entity}@{instances.join(", ")}
        </span>
      ))}
      {origins.map((origin) => (
        <span key={origin.ref} className="name">
          {origin.kind.toLowerCase()} {origin.kind === "RUN" ? <RunLink id={origin.ref} /> : origin.ref}
        </span>
      ))}
    </span>
  );
}

function Ranges({ ranges }: { ranges: readonly string[] }) {
  if (ranges.length === 0) return <span className="soft">–</span>;
  return (
    <span className="mono small" title={ranges.join(", ")}>
      {ranges.slice(0, 4).join(", ")}
      {ranges.length > 4 && ` and ${ranges.length - 4} more`}
    </span>
  );
}

function ByReads({ reads }: { reads: NonNullable<One["reads"]> }) {
  return (
    <>
      <Section title="Wrong versions, by recorded reads" beside={`${plural(reads.current, "dataset")} hold one still`}>
        <Table
          label="Wrong versions"
          rows={reads.versions}
          keyOf={(version) => version.version_id}
          columns={[
            {
              id: "dataset",
              header: "Dataset",
              wide: true,
              value: (version) => version.dataset,
              cell: (version) => <NodeLink id={version.dataset} label={version.label} tab="versions" />,
            },
            {
              id: "written",
              header: "Written",
              value: (version) => version.written_at,
              cell: (version) => <When at={version.written_at} />,
            },
            {
              id: "current",
              header: "Held still",
              value: (version) => String(version.current),
              cell: (version) => (version.current ? <State state="wrong" word="yes" /> : "no"),
            },
            {
              id: "basis",
              header: "Known",
              minor: true,
              value: (version) => version.basis,
              cell: (version) => (version.basis === "exact" ? "exactly" : "by time"),
            },
            {
              id: "run",
              header: "Run",
              minor: true,
              value: (version) => version.run_id,
              cell: (version) => (version.run_id ? <RunLink id={version.run_id} /> : "–"),
            },
          ]}
          empty={<p className="soft">None.</p>}
        />
      </Section>
      {reads.repeat.length > 0 && (
        <Section title="Jobs to run again, in this order">
          <ol className="list">
            {reads.repeat.map((one) => (
              <li key={one.job}>
                <NodeLink id={one.job} label={one.label} />
                <small className="soft">{plural(one.runs.length, "run")}</small>
              </li>
            ))}
          </ol>
        </Section>
      )}
    </>
  );
}
