// An edge, explained: who says so and since when, which columns it carries, the statement, and who disagrees.
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useAsk, useReference } from "../../api/queries.ts";
import type { LineageAnswer } from "../../api/types.ts";
import { plural } from "../../format.ts";
import { bareName, distinguish } from "../../names.ts";
import { NodeLink } from "../../parts/node-link.tsx";
import { When } from "../../parts/when.tsx";
import { type ColumnEdge, evidenceWord, originWord, relationWord, transformationWords } from "./explain.ts";
import { Details } from "./details.tsx";

interface Props {
  source: string;
  target: string;
  answer: LineageAnswer;
  asOf: string | null;
  close(): void;
}

export function EdgeDetails({ source, target, answer, asOf, close }: Props) {
  const edge = answer.edges.find((one) => one.source === source && one.target === target);
  const jobs = useMemo(() => {
    const all = [source, target].filter((id) => id.startsWith("job:"));
    for (const one of answer.column_edges) if (one.source === source && one.target === target) all.push(one.job);
    return [...new Set(all)];
  }, [answer, source, target]);
  const columns = answer.column_edges.filter(
    (one) =>
      (one.source === source && (one.target === target || one.job === target)) ||
      (one.target === target && one.job === source),
  );
  const names = distinguish([{ id: source }, { id: target }]);
  return (
    <Details
      label="The edge"
      title={
        <>
          {names.get(source)} → {names.get(target)}
        </>
      }
      close={close}
    >
      <ul className="list">
        {[source, target].map((id) => (
          <li key={id}>
            <NodeLink id={id} />
          </li>
        ))}
      </ul>
      {edge ? (
        <>
          <p>
            {relationWord(edge.relation)}, {originWord(edge.origin)}
            {edge.count > 1 && `; ${plural(edge.count, "edge")} drawn as one`}
            {edge.intermittent && "; some of the job's latest runs reported it, others did not"}
            {edge.refused && "; not followed, because it would close a loop"}
          </p>
          <p className="soft">
            First seen <When at={edge.first_seen} />, last <When at={edge.last_seen} />.
          </p>
          <h3>Who says so</h3>
          {edge.claims.length === 0 ? (
            <p className="soft">
              {edge.count > 1 ? "Open what it stands for to see its sources." : "No source is recorded for it."}
            </p>
          ) : (
            <ul className="list">
              {edge.claims.map((claim, i) => (
                <li key={i}>
                  {claim.by?.startsWith("job:") ? <NodeLink id={claim.by} /> : (claim.by ?? "a person")}
                  <small className="soft">
                    {evidenceWord(claim.evidence)}, {originWord(claim.origin)}
                    {claim.since && (
                      <>
                        , since <When at={claim.since} />
                      </>
                    )}
                  </small>
                </li>
              ))}
            </ul>
          )}
        </>
      ) : (
        <p className="soft">This edge is not drawn at this depth or time.</p>
      )}
      <Columns columns={columns} />
      {jobs.map((job) => (
        <Statement key={job} job={job} />
      ))}
      <Disagreements jobs={jobs} source={source} target={target} asOf={asOf} />
    </Details>
  );
}

function Columns({ columns }: { columns: readonly ColumnEdge[] }) {
  if (columns.length === 0) return null;
  return (
    <>
      <h3>{plural(columns.length, "column edge")}</h3>
      <ul className="list">
        {columns.slice(0, 60).map((one, i) => (
          <li key={i}>
            <span className="mono">
              {one.source_field ?? "all of it"} → {one.target_field ?? "all of it"}
            </span>
            <small className="soft">{transformationWords(one) || originWord(one.origin)}</small>
          </li>
        ))}
      </ul>
      {columns.length > 60 && <p className="soft">and {columns.length - 60} more</p>}
    </>
  );
}

function Statement({ job }: { job: string }) {
  const reference = useReference(job);
  const versions = useAsk(
    "/api/v2/jobs/{namespace}/{name}/versions",
    { path: reference.data ?? { namespace: "", name: "" } },
    { enabled: reference.data !== undefined },
  );
  const current = versions.data?.versions.find((one) => one.current) ?? versions.data?.versions[0];
  return (
    <>
      <h3>The SQL of {bareName(job)}</h3>
      {current?.sql ? (
        <pre className="code" tabIndex={0}>
          {current.sql}
        </pre>
      ) : (
        <>
          <p className="soft">{versions.isPending ? "Asking for it…" : "No run reported its SQL."}</p>
          <Link className="button quiet" to="/jobs/$id/{-$tab}" params={{ id: bareName(job), tab: "code" }}>
            Its code
          </Link>
        </>
      )}
    </>
  );
}

interface DisagreementProps {
  jobs: readonly string[];
  source: string;
  target: string;
  asOf: string | null;
}

function Disagreements({ jobs, source, target, asOf }: DisagreementProps) {
  const conflicts = useAsk(
    "/api/v2/conflicts",
    { query: { node: jobs[0] ?? "", as_of: asOf } },
    { enabled: jobs.length > 0 },
  );
  const about = conflicts.data?.conflicts.filter(
    (one) => [source, target].includes(one.source) && [source, target].includes(one.target),
  );
  if (!about || about.length === 0) return null;
  return (
    <>
      <h3>Sources disagree</h3>
      <ul className="list">
        {about.flatMap((conflict, i) =>
          conflict.claims.map((claim, c) => (
            <li key={`${i} ${c}`}>
              {conflict.kind.replaceAll("_", " ")}: {originWord(claim.origin)} {claim.says.toLowerCase()}
              <small className="soft">
                <When at={claim.at} />
              </small>
            </li>
          )),
        )}
      </ul>
    </>
  );
}
