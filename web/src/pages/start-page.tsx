// The page before a node is chosen: search, and what moved lately.
import { Skeleton } from "@mantine/core";
import { useDatasets, useJobs, useStatus } from "../api/queries.ts";
import { bytes, count, duration, shortNamespace } from "../format.ts";
import { SearchBox } from "../search/search-box.tsx";
import { Message, Trouble } from "./message.tsx";
import { atNode, PageLink } from "./open-node.tsx";
import { When } from "./when.tsx";

const SHOWN = 12;

export function StartPage() {
  const status = useStatus();
  const datasets = useDatasets(SHOWN);
  const jobs = useJobs(SHOWN);
  const failed = [datasets, jobs].find((query) => query.error);
  if (failed)
    return (
      <main className="stage">
        <Trouble
          error={failed.error}
          retry={() => {
            for (const query of [status, datasets, jobs]) void query.refetch();
          }}
        />
      </main>
    );
  const empty = datasets.data?.total === 0 && jobs.data?.total === 0;
  return (
    <main className="start">
      <div className="start-inner">
        <h1>Where does this data come from?</h1>
        <p className="lede">
          Find a dataset, a job or a column, and follow it to its source and to everyone who uses it.
        </p>
        <SearchBox key="start" large />
        {status.data && (
          <dl className="counts">
            <Count label="datasets" value={count(status.data.counts.datasets)} />
            <Count label="jobs" value={count(status.data.counts.jobs)} />
            <Count label="runs" value={count(status.data.counts.runs)} />
            <Count label="events" value={count(status.data.events.total)} />
            <div className="quiet">
              <dt>last event</dt>
              <dd>
                <When at={status.data.events.last_received_at} />
              </dd>
            </div>
            <div className="quiet">
              <dt>database</dt>
              <dd>{status.data.database.ok ? bytes(status.data.database.size_bytes) : "not available"}</dd>
            </div>
          </dl>
        )}
        {empty ? (
          <Message title="Nothing here yet">
            <p>Point an OpenLineage producer at this server, or run a package, and its datasets appear here.</p>
          </Message>
        ) : (
          <div className="lists">
            <section aria-labelledby="recent-datasets">
              <h2 id="recent-datasets">Recently updated datasets</h2>
              {datasets.isPending && <Waiting />}
              <ul className="list">
                {datasets.data?.datasets.map((dataset) => (
                  <li key={dataset.id}>
                    <PageLink patch={atNode(dataset.id)} title={dataset.id}>
                      <i className="kind dataset" />
                      <span style={{ minWidth: 0 }}>
                        <strong className="name">{dataset.label}</strong>
                        <small className="name">
                          {shortNamespace(dataset.namespace)}
                          {dataset.fields.length > 0 && ` · ${dataset.fields.length} columns`}
                        </small>
                      </span>
                      <When at={dataset.updated_at} />
                    </PageLink>
                  </li>
                ))}
              </ul>
            </section>
            <section aria-labelledby="recent-jobs">
              <h2 id="recent-jobs">Recently run jobs</h2>
              {jobs.isPending && <Waiting />}
              <ul className="list">
                {jobs.data?.jobs.map((job) => (
                  <li key={job.id}>
                    <PageLink patch={atNode(job.id)} title={job.id}>
                      <i className={`dot ${job.last_run?.state.toLowerCase() ?? "none"}`} />
                      <span style={{ minWidth: 0 }}>
                        <strong className="name">{job.label}</strong>
                        <small className="name">
                          {shortNamespace(job.namespace)}
                          {job.last_run &&
                            ` · ${job.last_run.state.toLowerCase()}${job.last_run.duration_ms === null ? "" : `, ${duration(job.last_run.duration_ms)}`}`}
                        </small>
                      </span>
                      <When at={job.last_run?.started_at ?? null} />
                    </PageLink>
                  </li>
                ))}
              </ul>
            </section>
          </div>
        )}
      </div>
    </main>
  );
}

function Count({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Waiting() {
  return Array.from({ length: 6 }, (_, i) => <Skeleton key={i} height={28} my={8} />);
}
