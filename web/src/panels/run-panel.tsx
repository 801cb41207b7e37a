// One run: with what, from which versions, to what, and what went wrong.
import { useRun } from "../api/queries.ts";
import type { RunDetail } from "../api/types.ts";
import { bytes, count, duration, exact, shortId } from "../format.ts";
import { Message, Trouble } from "../pages/message.tsx";
import { PageLink } from "../pages/open-node.tsx";
import { When } from "../pages/when.tsx";
import { navigate } from "../url.ts";
import { CloseButton } from "./close-button.tsx";
import { Facets } from "./facets.tsx";
import { NodeLink } from "./node-list.tsx";
import { RunList } from "./run-list.tsx";

export function RunPanel({ id }: { id: string }) {
  const query = useRun(id);
  const run = query.data;
  return (
    <>
      <header className="panel-head">
        <div className="buttons">
          <CloseButton />
        </div>
        <button type="button" className="plain" style={{ marginLeft: -5 }} onClick={() => navigate({ run: null })}>
          ← back
        </button>
        {run && <Head run={run} />}
      </header>
      {query.error && !run ? (
        <Trouble error={query.error} retry={() => void query.refetch()} />
      ) : run ? (
        <Body run={run} />
      ) : (
        <Message title="Loading…" />
      )}
    </>
  );
}

function Head({ run }: { run: RunDetail }) {
  return (
    <>
      <h2 className="name wraps">Run of {shortId(run.job)}</h2>
      <div className="where name wraps">{run.id}</div>
      <dl className="facts">
        <dt>State</dt>
        <dd>
          <span className="state">
            <i className={`dot ${run.effective_state.toLowerCase()}`} />
            {run.state}
            {run.effective_state !== run.state && `, a child ${run.effective_state}`}
          </span>
        </dd>
        <dt>Started</dt>
        <dd>
          <When at={run.started_at} /> <span className="soft mono">{exact(run.started_at)}</span>
        </dd>
        <dt>Took</dt>
        <dd>{duration(run.duration_ms)}</dd>
        {run.nominal_start && (
          <>
            <dt>Period</dt>
            <dd className="mono">
              {exact(run.nominal_start)}
              {run.nominal_end && ` to ${exact(run.nominal_end)}`}
            </dd>
          </>
        )}
        {run.code && (
          <>
            <dt>Code</dt>
            <dd className="mono">
              {run.code.version?.slice(0, 40) ?? "unknown"}
              {run.code.dirty && <span className="tag"> uncommitted changes</span>}
              {run.code.url && <div className="soft name">{run.code.url}</div>}
            </dd>
          </>
        )}
        <dt>Job</dt>
        <dd>
          <PageLink
            className="name mono"
            patch={{ selected: run.job, run: null, tab: null, field: null }}
            title={run.job}
          >
            {shortId(run.job)}
          </PageLink>
        </dd>
        {run.parent && (
          <>
            <dt>Part of</dt>
            <dd>
              <PageLink className="name mono" patch={{ run: run.parent.run_id }} title={run.parent.run_id}>
                run of {shortId(run.parent.job)}
              </PageLink>
            </dd>
          </>
        )}
      </dl>
    </>
  );
}

function Body({ run }: { run: RunDetail }) {
  const failure = errorOf(run);
  const parameters = Object.entries(run.parameters ?? {});
  return (
    <div className="panel-body">
      {failure && (
        <section>
          <h3>Error</h3>
          <div className="failure">{failure.message}</div>
          {failure.stack && <pre className="trace">{failure.stack}</pre>}
        </section>
      )}
      {parameters.length > 0 && (
        <section>
          <h3>Parameters</h3>
          <dl className="facts mono">
            {parameters.map(([key, value]) => (
              <Parameter key={key} name={key} value={value} />
            ))}
          </dl>
        </section>
      )}
      <section>
        <h3>Read ({run.inputs.length})</h3>
        {run.inputs.length === 0 && <p className="soft">Nothing was reported as read.</p>}
        <ul className="list">
          {run.inputs.map((input) => (
            <li key={input.dataset}>
              <NodeLink id={input.dataset}>
                <small className="mono">{input.external_version ?? input.version_id?.slice(0, 8)}</small>
              </NodeLink>
              {input.written_by && (
                <div style={{ padding: "0 6px 6px 28px" }}>
                  <PageLink patch={{ run: input.written_by.run_id }} title={`Run ${input.written_by.run_id}`}>
                    written by {shortId(input.written_by.job)}
                  </PageLink>
                </div>
              )}
              <FacetsOf facets={input.facets} />
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h3>Wrote ({run.outputs.length})</h3>
        {run.outputs.length === 0 && <p className="soft">Nothing was reported as written.</p>}
        <ul className="list">
          {run.outputs.map((output) => (
            <li key={output.dataset}>
              <NodeLink id={output.dataset}>
                <small>
                  {count(output.rows)} rows · {bytes(output.bytes)}
                </small>
              </NodeLink>
              <FacetsOf facets={output.facets} />
            </li>
          ))}
        </ul>
      </section>
      {run.children.length > 0 && (
        <section>
          <h3>Child runs ({run.children.length})</h3>
          <RunList runs={run.children} named none="" />
        </section>
      )}
      <Facets facets={run.facets} title="Run facets" />
      <Facets facets={run.job_facets} title="Job facets" />
    </div>
  );
}

function Parameter({ name, value }: { name: string; value: unknown }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
    </>
  );
}

function FacetsOf({ facets }: { facets: Record<string, unknown> }) {
  if (!facets || Object.keys(facets).length === 0) return null;
  return (
    <div style={{ paddingLeft: 28 }}>
      <Facets facets={facets} title="" />
    </div>
  );
}

/** The whole message and the stack trace are in the facet; the run itself carries the first line. */
function errorOf(run: RunDetail): { message: string; stack: string | null } | null {
  const facet = run.facets?.errorMessage as { message?: unknown; stackTrace?: unknown } | undefined;
  const message = typeof facet?.message === "string" ? facet.message : run.error;
  if (!message) return null;
  return { message, stack: typeof facet?.stackTrace === "string" ? facet.stackTrace : null };
}
