-- Labels of runs, by which they are found (docs/decisions/055): tags, the id of a query in its warehouse, the engine, variables.
create table run_labels (
  run_id uuid not null,
  job_id uuid not null,
  name   text not null,
  value  text not null,
  primary key (run_id, job_id, name, value)
);
create index run_labels_by_value on run_labels (name, value);

-- Control flow that a job's runs report (`jobDependencies`): no data need pass. `kind`: the producer's word for it.
create table job_dependencies (
  upstream_id   uuid        not null,
  downstream_id uuid        not null,
  reporter_id   uuid        not null,
  kind          text        not null,
  first_at      timestamptz not null,
  last_at       timestamptz not null,
  primary key (reporter_id, upstream_id, downstream_id, kind)
);
create index job_dependencies_of_upstream on job_dependencies (upstream_id);
create index job_dependencies_of_downstream on job_dependencies (downstream_id);

-- Both, dashboards of dbt's exposures, earlier names and the words of more facets come from the log. Where months of it were dropped, a rebuild would
-- lose what they reported.
update server_state set rebuild_needed = rebuild_needed or (log_dropped_before is null and exists (select from events));
