-- The event log is the truth. Every other table is a projection that `headwater server rebuild` can make again.

create extension if not exists pg_trgm;

-- Raw events, as received, partitioned by event time: a duplicate carries the same event time, so (digest, event_time) is unique
-- inside its partition, and retention is DROP PARTITION. Months are made when their first event arrives.
create table events (
  event_time  timestamptz not null,
  digest      bytea       not null,
  kind        text        not null,
  event_type  text,
  run_id      uuid,
  producer    text        not null,
  received_at timestamptz not null default clock_timestamp(),
  body        bytea       not null,
  primary key (digest, event_time)
) partition by range (event_time);
create index events_by_time on events (event_time);
create index events_by_run on events (run_id) where run_id is not null;
create table events_before partition of events for values from (minvalue) to ('2010-01-01 00:00:00+00');
create table events_after  partition of events for values from ('2050-01-01 00:00:00+00') to (maxvalue);

create table warnings (
  event_time timestamptz not null,
  digest     bytea       not null,
  position   int         not null,
  producer   text        not null,
  code       text        not null,
  place      text        not null,
  message    text        not null,
  primary key (digest, event_time, position)
);
create index warnings_by_producer on warnings (producer, code);

create table datasets (
  id         uuid primary key,
  namespace  text        not null,
  name       text        not null,
  first_seen timestamptz not null,
  last_seen  timestamptz not null
);
create index datasets_by_last_seen on datasets (last_seen desc);
create index datasets_by_words on datasets using gin (name gin_trgm_ops);

create table jobs (
  id            uuid primary key,
  namespace     text        not null,
  name          text        not null,
  first_seen    timestamptz not null,
  last_seen     timestamptz not null,
  parent_id     uuid,
  parent_at     timestamptz,
  parent_digest bytea
);
create index jobs_by_last_seen on jobs (last_seen desc);
create index jobs_by_parent on jobs (parent_id) where parent_id is not null;
create index jobs_by_words on jobs using gin (name gin_trgm_ops);

-- Keyed by (run, job): one run id may span several jobs. `state` is the rank of model.run.RunState.
create table runs (
  run_id         uuid        not null,
  job_id         uuid        not null,
  external_id    text,
  state          smallint    not null,
  first_event_at timestamptz not null,
  last_event_at  timestamptz not null,
  started_at     timestamptz,
  ended_at       timestamptz,
  parent_run_id  uuid,
  parent_job_id  uuid,
  parent_at      timestamptz,
  parent_digest  bytea,
  primary key (run_id, job_id)
);
create index runs_by_job on runs (job_id, first_event_at desc);
create index runs_by_parent on runs (parent_run_id) where parent_run_id is not null;
create index runs_by_time on runs (first_event_at desc);

-- A report: a run, or a JobEvent's declaration, that told inputs or outputs of a job.
create table reports (
  job_id      uuid        not null,
  report_id   uuid        not null,
  declaration boolean     not null,
  first_at    timestamptz not null,
  primary key (job_id, report_id)
);
create index reports_by_time on reports (job_id, declaration, first_at desc);

-- What a report told. `declared`: only a manifest or a JobEvent says so; nothing observed it (yet).
create table report_datasets (
  job_id     uuid        not null,
  report_id  uuid        not null,
  dataset_id uuid        not null,
  direction  text        not null check (direction in ('in', 'out')),
  declared   boolean     not null,
  first_at   timestamptz not null,
  last_at    timestamptz not null,
  primary key (job_id, report_id, dataset_id, direction)
);

-- The reports that keep a job's edges alive at a time: its last N runs that told inputs or outputs, and its latest declaration.
create function live_reports(jobs uuid[], as_of timestamptz, live_runs int) returns table (job_id uuid, report_id uuid)
language sql stable as $$
  select j.id, r.report_id
  from unnest(jobs) as j (id) cross join lateral (
    (select report_id from reports where reports.job_id = j.id and not declaration and first_at <= as_of order by first_at desc, report_id limit live_runs)
    union all
    (select report_id from reports where reports.job_id = j.id and declaration and first_at <= as_of order by first_at desc, report_id limit 1)) r
$$;

-- Every (dataset, job, direction) ever reported: where a walk looks for neighbours before it asks which edges are live.
create table edges (
  dataset_id uuid        not null,
  job_id     uuid        not null,
  direction  text        not null,
  first_at   timestamptz not null,
  last_at    timestamptz not null,
  primary key (dataset_id, job_id, direction)
);
create index edges_by_job on edges (job_id);

-- What one run left behind in a dataset. `declared`: only a manifest says the run wrote it.
create table dataset_versions (
  id               uuid primary key,
  dataset_id       uuid        not null,
  run_id           uuid,
  job_id           uuid,
  external_version text        not null,
  declared         boolean     not null,
  first_at         timestamptz not null,
  written_at       timestamptz not null
);
create index dataset_versions_by_time on dataset_versions (dataset_id, written_at desc);
create index dataset_versions_by_run on dataset_versions (run_id) where run_id is not null;

-- Facets: the latest body of each name for each owner (a dataset, a job, a run, an input or output of a run, a dataset version).
create table facets (
  owner   uuid        not null,
  name    text        not null,
  at      timestamptz not null,
  digest  bytea       not null,
  body_id uuid        not null,
  deleted boolean     not null,
  primary key (owner, name)
);
create index facets_by_body on facets (body_id);

create table facet_bodies (
  id   uuid primary key,
  body bytea not null
);

-- The columns of each distinct schema facet.
create table schema_fields (
  body_id     uuid not null,
  position    int  not null,
  name        text not null,
  type        text,
  description text,
  primary key (body_id, position)
);
create index schema_fields_by_words on schema_fields using gin (name gin_trgm_ops);

-- Column evidence of a report for one target (a dataset, or the job itself). A columnLineage facet is replaced by the next one of its
-- run (slot is zero); explicit lineage accumulates (slot is its set).
create table report_columns (
  job_id    uuid        not null,
  report_id uuid        not null,
  target_id uuid        not null,
  origin    smallint    not null,
  slot      uuid        not null,
  at        timestamptz not null,
  digest    bytea       not null,
  set_id    uuid        not null,
  primary key (job_id, report_id, target_id, origin, slot)
);
create index report_columns_by_target on report_columns (target_id);

-- The edges of each distinct set of column evidence: daily runs with the same columns share one set.
create table column_edges (
  set_id       uuid    not null,
  position     int     not null,
  target_field text    not null,
  source_id    uuid    not null,
  source_field text    not null,
  type         text    not null,
  subtype      text    not null,
  masking      boolean not null,
  description  text,
  primary key (set_id, position)
);
create index column_edges_by_source on column_edges (source_id);
