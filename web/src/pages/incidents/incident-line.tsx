// One incident on a line: what, since when, who is hit, who owns it, and where to look.
import { Link } from "@tanstack/react-router";
import type { Answer } from "../../api/client.ts";
import { plural } from "../../format.ts";
import { Command } from "../../parts/message.tsx";
import { KindMark, NodeLink, RunLink } from "../../parts/node-link.tsx";
import { State } from "../../parts/state.tsx";
import { When } from "../../parts/when.tsx";

export type Incident = Answer<"/api/v2/open-incidents">["incidents"][number];

export function IncidentLine({ incident, full = false }: { incident: Incident; full?: boolean }) {
  return (
    <li className="incident">
      <span className="incident-kind">
        <State state={incident.kind} />
      </span>
      <span className="incident-what">
        <Subject incident={incident} />
        <span className="incident-text">{incident.text}</span>
      </span>
      <span className="incident-facts">
        {incident.since && (
          <span>
            since <When at={incident.since} />
          </span>
        )}
        <Caused incident={incident} />
        {incident.hit.length > 0 && <span>{plural(incident.hit.length, "more is hit", "more are hit")}</span>}
        <span>{incident.owners.length ? incident.owners.join(", ") : <span className="soft">no owner</span>}</span>
      </span>
      {full && (
        <span className="incident-more">
          {incident.hit.length > 0 && (
            <ul className="list">
              {incident.hit.map((hit) => (
                <li key={hit.id}>
                  <NodeLink id={hit.id} label={hit.label} />
                  <small className="soft">{hit.owners.join(", ")}</small>
                </li>
              ))}
            </ul>
          )}
          <span>
            To mend it:{" "}
            {incident.plan.startsWith("headwater ") && incident.kind !== "doubted" ? (
              <Command text={incident.plan} />
            ) : (
              <span className={incident.kind === "doubted" ? "mono small" : undefined}>{incident.plan}</span>
            )}
          </span>
          <span>
            To see more: <Command text={incident.look} />
          </span>
        </span>
      )}
    </li>
  );
}

/** The first cause upstream, where it is something else than the subject of the line. */
export function Caused({ incident: { id, cause }, bare = false }: { incident: Incident; bare?: boolean }) {
  if (cause.id === id || !cause.label) return null;
  return (
    <span>
      {!bare && "cause: "}
      {cause.kind === "run" ? (
        <RunLink id={cause.id}>run of {cause.label}</RunLink>
      ) : cause.kind === "version" && id.startsWith("dataset:") ? (
        <NodeLink id={id} label={`version of ${cause.label}`} tab="versions" />
      ) : (
        <NodeLink id={cause.id} label={cause.label} />
      )}
    </span>
  );
}

/** Leads to the incident: its cause, who is hit, and the repair. */
function Subject({ incident: { id, label } }: { incident: Incident }) {
  return (
    <Link className="node-link" title={id} to="/incidents/$id" params={{ id }}>
      {/^(dataset|job):/.test(id) && <KindMark id={id} />}
      <span className="name mono">{label || `Incident ${id.slice(0, 8)}`}</span>
    </Link>
  );
}
