-- What the query-log pipeline measured, as its facets say it: one row for each dataset or job, with the numbers as columns. The latest event's
-- facet stands (`at`, `digest`; `body_id`, the facet's own content, where one event has two of them); `deleted`: it took the facet back.

-- Who reads and writes a dataset. `status`: active, stale, one_off or unread. `top_readers`: [{actor, kind, reads, lastReadAt}].
create table usage (
  dataset_id             uuid primary key,
  at                     timestamptz not null,
  digest                 bytea       not null,
  body_id                uuid        not null,
  deleted                boolean     not null,
  reads                  bigint      not null,
  writes                 bigint      not null,
  reads_by_people        bigint      not null,
  reads_by_services      bigint      not null,
  reads_by_bi            bigint      not null,
  reads_by_pipelines     bigint      not null,
  reads_by_unknown       bigint      not null,
  readers                bigint      not null,
  people                 bigint      not null,
  last_read_at           timestamptz,
  last_read_by_person_at timestamptz,
  last_written_at        timestamptz,
  first_seen_at          timestamptz,
  active_days            bigint      not null,
  status                 text        not null,
  top_readers            jsonb       not null
) with (fillfactor = 80);

-- What a dataset or job cost, and keeping it for a month. `grain`: table of a dataset; shape, task or model of a job. `drivers`: of a warehouse's log, what its users and
-- tools cost: [{grain, key, executions, money, …}], and how many were left out.
create table costs (
  owner          uuid primary key,
  at             timestamptz not null,
  digest         bytea       not null,
  body_id        uuid        not null,
  deleted        boolean     not null,
  grain          text        not null,
  executions     bigint      not null,
  money          float8,
  bytes_billed   bigint,
  slot_ms        bigint,
  duration_ms    bigint,
  credits        float8,
  share          float8,
  keep_month     float8,
  drivers        jsonb       not null,
  hidden_drivers bigint      not null
) with (fillfactor = 80);

-- Whether a query shape is run again and again. `class`: recurring, ad_hoc or one_off.
create table recurrence (
  job_id           uuid primary key,
  at               timestamptz not null,
  digest           bytea       not null,
  body_id          uuid        not null,
  deleted          boolean     not null,
  class            text        not null,
  executions       bigint      not null,
  period_seconds   bigint,
  first_at         timestamptz,
  last_at          timestamptz,
  expected_next_at timestamptz,
  missing          bigint      not null,
  unexpected       bigint      not null,
  confidence       float8      not null
) with (fillfactor = 80);

-- How often a query shape ran, by whom, with what. `actors`: [{actor, kind, executions}]; `tools`: [{tool, asset, name, executions}].
create table query_counts (
  job_id        uuid primary key,
  at            timestamptz not null,
  digest        bytea       not null,
  body_id       uuid        not null,
  deleted       boolean     not null,
  executions    bigint      not null,
  failures      bigint      not null,
  first_at      timestamptz,
  last_at       timestamptz,
  level         text,
  last_query_id text,
  actors        jsonb       not null,
  tools         jsonb       not null
) with (fillfactor = 80);

-- Datasets that may go, wave by wave (1 first), and what that saves a month.
create table pruning (
  dataset_id  uuid primary key,
  at          timestamptz not null,
  digest      bytea       not null,
  body_id     uuid        not null,
  deleted     boolean     not null,
  wave        bigint      not null,
  reason      text        not null,
  money_month float8,
  evidence    text        not null,
  confidence  float8      not null
) with (fillfactor = 80);

-- How well the statements of a warehouse's log (a job stands for it) were understood, a row for each day and dialect.
-- `quarantined_by`: {code: rows}.
create table lineage_quality (
  job_id              uuid        not null,
  day                 date        not null,
  dialect             text        not null,
  at                  timestamptz not null,
  digest              bytea       not null,
  body_id             uuid        not null,
  shapes              bigint      not null,
  full_shapes         bigint      not null,
  partial_shapes      bigint      not null,
  tables_shapes       bigint      not null,
  nothing_shapes      bigint      not null,
  idle_shapes         bigint      not null,
  executions          bigint      not null,
  full_executions     bigint      not null,
  partial_executions  bigint      not null,
  tables_executions   bigint      not null,
  nothing_executions  bigint      not null,
  idle_executions     bigint      not null,
  textless_executions bigint      not null,
  unresolved          bigint      not null,
  quarantined         bigint      not null,
  quarantined_by      jsonb       not null,
  told_executions     bigint      not null,
  told_agreed         bigint      not null,
  told_only           bigint      not null,
  parsed_only         bigint      not null,
  primary key (job_id, day, dialect)
) with (fillfactor = 80);

update server_state set rebuild_needed = rebuild_needed or (log_dropped_before is null and exists (
  select 1 from facet_sets where name in (
    'headwater_usage', 'headwater_cost', 'headwater_recurrence', 'headwater_queries', 'headwater_pruning', 'headwater_quality')));
