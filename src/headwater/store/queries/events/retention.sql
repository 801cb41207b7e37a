-- name: try_lock :one
-- One retention at a time over all processes; held by the session until it is let go.
select pg_try_advisory_lock(1751474532, 6)

-- name: unlock :exec
-- Let it go.
select pg_advisory_unlock(1751474532, 6)

-- name: partitions :many
-- Months of the log that end by a time, the oldest first, with about how many events each has.
select c.relname, greatest(c.reltuples, 0)::bigint from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'events'::regclass and c.relname ~ '^events_\d{4}_\d{2}$'
  and (to_date(right(c.relname, 7), 'YYYY_MM')::timestamp + interval '1 month') at time zone 'UTC' <= %(before)s
order by c.relname

-- name: log_dropped :exec
-- Remember that the log has holes before this time.
update server_state set log_dropped_before = greatest(log_dropped_before, %(before)s)

-- name: delete_early_events :exec
-- Events before the first month there can be, so many.
delete from events_before where (digest, event_time) in (
  select digest, event_time from events_before where event_time < %(before)s order by event_time limit %(limit)s for update skip locked)

-- name: delete_late_events :exec
-- Events after the last month there can be, so many: only a time to come reaches them.
delete from events_after where (digest, event_time) in (
  select digest, event_time from events_after where event_time < %(before)s order by event_time limit %(limit)s for update skip locked)

-- name: delete_warnings :exec
-- Warnings of old events, so many. One that says under which time the log has its event stays as long as the event.
delete from warnings where (digest, event_time, position) in (
  select digest, event_time, position from warnings w
  where event_time < %(before)s
    and (code <> 'future_time' or not exists (select from events e where e.digest = w.digest and e.event_time = w.event_time))
  limit %(limit)s for update skip locked)

-- name: delete_audit :exec
-- Old rows of the audit log, so many; the table lets only a transaction do this that declares itself as retention.
delete from audit where id in (select id from audit where at < %(before)s order by at, id limit %(limit)s for update skip locked)

-- name: allow_audit :exec
-- Say for this transaction that it is retention.
select set_config('headwater.retention', 'audit', true)

-- name: jobs_page :many
-- Jobs in order of their ids, a page at a time.
select id from jobs where id > %(after)s order by id limit %(limit)s

-- name: old_reports :many
-- Reports of these jobs from before a time, but for the last of each job's runs and of its declarations, and for its settled ones.
with ranked as (
  select r.job_id, r.report_id, r.first_at, row_number() over (partition by r.job_id, r.declaration order by r.first_at desc, r.report_id) as place
  from reports r where r.job_id = any(%(jobs)b::uuid[])
)
select job_id, report_id from ranked r where not exists (select from jobs j where j.id = r.job_id and r.report_id = any(j.settled)) and first_at < %(before)s and place > %(keep)s limit %(limit)s

-- name: lock_reports :many
-- Those of these reports that no transaction writes to now and that still began before the time.
select job_id, report_id from reports
where (job_id, report_id) in (select * from unnest(%(jobs)b::uuid[], %(reports)b::uuid[])) and first_at < %(before)s
order by job_id, report_id for update skip locked

-- name: delete_report_datasets :exec
-- Delete the datasets of these reports.
delete from report_datasets where (job_id, report_id) in (select * from unnest(%(jobs)b::uuid[], %(reports)b::uuid[]))

-- name: delete_report_subsets :exec
-- Delete the parts of these reports.
delete from report_subsets where (job_id, report_id) in (select * from unnest(%(jobs)b::uuid[], %(reports)b::uuid[]))

-- name: delete_report_foreign_edges :exec
-- Delete the edges of other jobs in these reports.
delete from report_foreign_edges where (job_id, report_id) in (select * from unnest(%(jobs)b::uuid[], %(reports)b::uuid[]))

-- name: delete_report_snapshots :exec
-- Delete the snapshots of these reports.
delete from report_snapshots where (job_id, report_id) in (select * from unnest(%(jobs)b::uuid[], %(reports)b::uuid[]))

-- name: delete_report_statements :exec
-- Delete the statements below these reports.
delete from report_statements where (job_id, report_id) in (select * from unnest(%(jobs)b::uuid[], %(reports)b::uuid[]))

-- name: delete_report_columns :exec
-- Delete the columns of these reports.
delete from report_columns where (job_id, report_id) in (select * from unnest(%(jobs)b::uuid[], %(reports)b::uuid[]))

-- name: delete_report_checks :exec
-- Results of checks in these runs.
delete from checks where (job_id, run_id) in (select * from unnest(%(jobs)b::uuid[], %(reports)b::uuid[]))

-- name: old_event_checks :many
-- Old results of checks without a run, which later results of the same checks replaced.
select c.run_id, c.dataset_id, c.name, c.field from checks c
where c.direction = 'event' and c.at < %(before)s and exists (
  select from checks n where n.dataset_id = c.dataset_id and n.name = c.name and n.field = c.field and n.direction = 'event' and n.version = c.version and n.part = c.part
    and (n.at, n.digest) > (c.at, c.digest))
order by c.at, c.run_id, c.dataset_id, c.name, c.field limit %(limit)s

-- name: delete_event_checks :exec
-- These results.
delete from checks where direction = 'event' and (run_id, dataset_id, name, field) in (
  select * from unnest(%(runs)b::uuid[], %(datasets)b::uuid[], %(names)b::text[], %(fields)b::text[])) and at < %(before)s

-- name: delete_reports :exec
-- The reports themselves.
delete from reports where (job_id, report_id) in (select * from unnest(%(jobs)b::uuid[], %(reports)b::uuid[]))

-- name: old_runs :many
-- Old runs of these jobs: silent since a time, none of the job's last, with no report left, and none that wrote a version still kept.
with ranked as (
  select r.run_id, r.job_id, r.last_event_at, row_number() over (partition by r.job_id order by r.first_event_at desc, r.run_id) as place
  from runs r where r.job_id = any(%(jobs)b::uuid[])
)
select r.job_id, r.run_id from ranked r
where r.place > %(keep)s and r.last_event_at < %(before)s
  and not exists (select from reports p where p.job_id = r.job_id and p.report_id = r.run_id)
  and not exists (select from dataset_versions v where v.run_id = r.run_id and v.job_id = r.job_id)
limit %(limit)s

-- name: delete_runs :exec
-- Those of these runs that are still silent and that no transaction writes to now.
delete from runs where (run_id, job_id) in (
  select r.run_id, r.job_id from runs r join unnest(%(jobs)b::uuid[], %(runs)b::uuid[]) u (job_id, run_id) on u.run_id = r.run_id and u.job_id = r.job_id
  where r.last_event_at < %(before)s order by r.run_id, r.job_id for update of r skip locked)

-- name: delete_run_labels :exec
-- Labels of those of these runs that are gone.
delete from run_labels l using unnest(%(jobs)b::uuid[], %(runs)b::uuid[]) u (job_id, run_id)
where l.job_id = u.job_id and l.run_id = u.run_id and not exists (select from runs r where r.run_id = u.run_id and r.job_id = u.job_id)

-- name: datasets_page :many
-- Datasets in order of their ids, a page at a time.
select id from datasets where id > %(after)s order by id limit %(limit)s

-- name: old_versions :many
-- Old versions of these datasets: never the latest, nor the latest that has a schema, nor what a report still kept wrote.
with ranked as (
  select v.id, v.job_id, v.run_id, v.written_at, row_number() over (partition by v.dataset_id order by v.written_at desc, v.id) as place,
         v.schema_id is not null and row_number() over (partition by v.dataset_id, v.schema_id is not null order by v.written_at desc, v.id) = 1 as latest_schema
  from dataset_versions v where v.dataset_id = any(%(datasets)b::uuid[])
)
select r.id from ranked r
where r.place > 1 and not r.latest_schema and r.written_at < %(before)s
  and not exists (select from reports p where p.job_id = r.job_id and p.report_id = r.run_id)
limit %(limit)s

-- name: delete_versions :exec
-- Those of these versions that no transaction writes to now.
delete from dataset_versions where id in (
  select id from dataset_versions where id = any(%(ids)b::uuid[]) and written_at < %(before)s order by id for update skip locked)

-- name: column_set_orphans :many
-- Column sets that no report has and no person drew.
select id from column_sets s where not exists (select from report_columns c where c.set_id = s.id)
  and not exists (select from edge_changes c where c.set_id = s.id) limit %(limit)s

-- name: delete_column_sets :exec
-- Those of these column sets that still no report has and no person drew; no transaction writes meanwhile.
delete from column_sets s where s.id = any(%(ids)b::uuid[]) and not exists (select from report_columns c where c.set_id = s.id)
  and not exists (select from edge_changes c where c.set_id = s.id)

-- name: facet_set_orphans :many
-- Facet sets no owner has.
select distinct id from facet_sets s where not exists (select from owner_facets o where o.set_id = s.id) limit %(limit)s

-- name: delete_facet_sets :exec
-- Those of these facet sets that still no owner has; no transaction writes meanwhile.
delete from facet_sets s where s.id = any(%(ids)b::uuid[]) and not exists (select from owner_facets o where o.set_id = s.id)

-- name: facet_body_orphans :many
-- Facet bodies that no set and no version has.
select id from facet_bodies b where not exists (select from facet_sets s where s.body_id = b.id)
  and not exists (select from dataset_versions v where v.schema_id = b.id) limit %(limit)s

-- name: delete_facet_bodies :exec
-- Those of these facet bodies that still nothing has; no transaction writes meanwhile.
delete from facet_bodies b where b.id = any(%(ids)b::uuid[])
  and not exists (select from facet_sets s where s.body_id = b.id) and not exists (select from dataset_versions v where v.schema_id = b.id)

-- name: count_early_events :one
-- Events before a time, before the first month there can be.
select count(*) from events_before where event_time < %(before)s

-- name: count_late_events :one
-- Events before a time, after the last month there can be.
select count(*) from events_after where event_time < %(before)s

-- name: count_warnings :one
-- Warnings of events before a time.
select count(*) from warnings where event_time < %(before)s

-- name: count_audit :one
-- Rows of the audit log before a time.
select count(*) from audit where at < %(before)s

-- name: share :exec
-- Wait for a rebuild to end, and keep the next one waiting until this transaction ends.
select pg_advisory_xact_lock_shared(1751474532, 2)

-- name: record :exec
-- Record the last outcome for one kind.
insert into retention (kind, before, deleted, error) values (%(kind)s, %(before)s, %(deleted)s, %(error)s)
on conflict (kind) do update set at = clock_timestamp(), before = excluded.before, deleted = excluded.deleted, error = excluded.error

-- name: note :exec
-- Records were deleted: as note_change() notes other changes that no event reports.
with locked as materialized (select pg_advisory_xact_lock_shared(1751474532, 15))
insert into latest_changes (kind, session, arrived, at) select 'retention', pg_backend_pid(), nextval('arrivals'), clock_timestamp() from locked
on conflict (kind, session) do update set arrived = excluded.arrived, at = excluded.at

-- name: cuts :many
-- Up to which time each kind was deleted the last time.
select kind, before from retention
