// One incident: what is wrong and because of what, who is hit, and the way out: fix, plan, retract.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { useAsk, useMe, useSend } from "../../api/queries.ts";
import { duration, plural } from "../../format.ts";
import { Answered } from "../../parts/answered.tsx";
import { Copy } from "../../parts/copy.tsx";
import { NodeLink, RunLink } from "../../parts/node-link.tsx";
import { Facts, Page, Section } from "../../parts/page.tsx";
import { State } from "../../parts/state.tsx";
import { Table } from "../../parts/table.tsx";
import { When } from "../../parts/when.tsx";
import { Refused } from "../metadata/described.tsx";

type One = Answer<"/api/v2/incidents/{incident}">;

const route = getRouteApi("/incidents/$id");

export function IncidentPage() {
  const { id } = route.useParams();
  const one = useAsk("/api/v2/incidents/{incident}", { path: { incident: id } });
  return (
    <Page title={one.data?.incident.reason || "Incident"} beside={<Copy text={id} what="the incident's id" />}>
      <Answered of={one} lines={8}>
        {(answer) => <Body answer={answer} />}
      </Answered>
    </Page>
  );
}

function Body({ answer }: { answer: One }) {
  const { incident, roots, origins, entities, reads, unaffected } = answer;
  return (
    <>
      <Section title="Facts">
        <Facts
          facts={[
            ["State", <State key="s" state={incident.state} />],
            ["Mended", incident.mended && "yes: nothing is wrong because of it any more"],
            ["Opened", <When key="o" at={incident.opened_at} full />],
            ["By", incident.opened_by],
            ["Fixed from", incident.fixed_at && <When key="f" at={incident.fixed_at} full />],
            ["Closed", incident.closed_at && <When key="c" at={incident.closed_at} full />],
            ["Note", incident.note || null],
            ["Parts still wrong", incident.wrong],
            ["First cause", <Causes key="r" roots={roots} origins={origins} />],
          ]}
        />
      </Section>
      {incident.state !== "retracted" && <WayOut incident={incident} />}
      <Section title="Who is hit" beside={plural(entities.length, "dataset")}>
        <Table
          label="Who is hit"
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
          empty={<p className="soft">No dataset with a schedule.</p>}
        />
      </Section>
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

function WayOut({ incident }: { incident: One["incident"] }) {
  const me = useMe();
  const navigate = useNavigate();
  const preview = useSend("post", "/api/v2/plans");
  const plan = useSend("post", "/api/v2/plans");
  const fix = useSend("post", "/api/v2/incidents/{incident}/fix");
  const retract = useSend("post", "/api/v2/incidents/{incident}/retract");
  const may = me.data?.role === "write" || me.data?.role === "admin";
  if (!may) return me.data ? <p className="soft">You may read. To plan or close it, ask for the role write.</p> : null;
  const path = { incident: incident.id };
  return (
    <Section title="The way out">
      <div className="actions">
        <button
          type="button"
          className="button"
          disabled={preview.isPending}
          onClick={() => preview.mutate({ body: { incident: incident.id, dry_run: true } })}
        >
          Plan the repair
        </button>
        {incident.state === "open" && (
          <button
            type="button"
            className="button quiet"
            title="Runs that begin from now on are right"
            onClick={() => fix.mutate({ path, body: { note: "the cause is mended" } })}
          >
            The cause is mended
          </button>
        )}
        <button
          type="button"
          className="button quiet"
          onClick={() => retract.mutate({ path, body: { note: "a false alarm" } })}
        >
          Retract: a false alarm
        </button>
      </div>
      <Refused error={preview.error ?? plan.error ?? fix.error ?? retract.error} />
      {preview.data && (
        <div className="range">
          <p>
            {plural(preview.data.items, "run")} would be made
            {preview.data.cost.compute_p50 > 0 &&
              `, about ${duration(preview.data.cost.compute_p50 * 1000)} of computing`}
            {preview.data.left.length > 0 && `; ${plural(preview.data.left.length, "range")} cannot be repaired`}.
            Nothing is planned yet.
          </p>
          <ol className="list">
            {preview.data.groups.map((group) => (
              <li key={group.first}>
                <span>
                  {group.level + 1}. {group.action}{" "}
                  <span className="mono">{group.producer ?? group.entities.join(", ")}</span>
                </span>
                <small className="soft">{plural(group.items, "run")}</small>
              </li>
            ))}
          </ol>
          <button
            type="button"
            className="button"
            disabled={plan.isPending || preview.data.items === 0}
            onClick={() =>
              plan.mutate(
                { body: { incident: incident.id, dry_run: false } },
                {
                  onSuccess: (answer) => {
                    if (answer.id) void navigate({ to: "/plans/$id", params: { id: answer.id } });
                  },
                },
              )
            }
          >
            Make this plan
          </button>
        </div>
      )}
    </Section>
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
