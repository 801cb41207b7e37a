-- name: page :many
-- Runs, the latest first.
select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id from runs
where (%(job_id)s::uuid is null or job_id = %(job_id)s) and (%(state)s::int is null or state = %(state)s) and (%(parent)s::uuid is null or parent_run_id = %(parent)s)
order by coalesce(started_at, first_event_at) desc, run_id limit %(limit)s offset %(offset)s

-- name: count :one
-- How many runs there are.
select count(*) from runs
where (%(job_id)s::uuid is null or job_id = %(job_id)s) and (%(state)s::int is null or state = %(state)s) and (%(parent)s::uuid is null or parent_run_id = %(parent)s)

-- name: by_run_id :many
-- The run with this id, in each job that has it.
select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id from runs
where run_id = %(run_id)s order by job_id

-- name: by_prefix :many
-- Runs whose id begins so.
select distinct run_id from runs where run_id::text like %(prefix)s || '%%' limit 20

-- name: children :many
-- Runs below these runs, all the way down; the path guards against runs that are each other's parents.
with recursive below as (
  select r.run_id, r.job_id, r.parent_run_id as root, array[r.run_id] as path from runs r where r.parent_run_id = any(%(ids)b)
  union all
  select r.run_id, r.job_id, b.root, b.path || r.run_id from runs r join below b on r.parent_run_id = b.run_id
  where not r.run_id = any(b.path) and cardinality(b.path) < 32
)
select b.root, max(r.state) filter (where r.state <= 5), count(*) from below b join runs r on r.run_id = b.run_id and r.job_id = b.job_id group by b.root

-- name: latest_of_jobs :many
-- The latest run of each of these jobs as of a time.
select l.* from unnest(%(ids)b::uuid[]) as j (id) cross join lateral (
  select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id from runs
  where job_id = j.id and first_event_at <= %(as_of)s order by first_event_at desc, run_id limit 1) l

-- name: datasets :many
-- Inputs and outputs of a run.
select d.dataset_id, d.direction, d.declared, d.first_at, d.last_at from report_datasets d where d.job_id = %(job_id)s and d.report_id = %(run_id)s order by d.direction, d.dataset_id

-- name: read_versions :many
-- The version of each dataset that a reader starting at this moment found: the latest written before it by a run that did not fail.
select x.* from unnest(%(datasets)b::uuid[]) as d (id) cross join lateral (
  select v.dataset_id, v.id, v.external_version, v.run_id, v.job_id, v.written_at from dataset_versions v
  left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
  where v.dataset_id = d.id and v.written_at <= %(at)s and (v.run_id is null or v.run_id <> %(run_id)s) and coalesce(r.state, 3) not in (4, 5)
    and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = v.dataset_id and c.parent_run_id = v.run_id))
  order by v.written_at desc, v.id limit 1) x

-- name: written_versions :many
-- What a run left behind.
select dataset_id, id, external_version, declared, written_at from dataset_versions where run_id = %(run_id)s and job_id = %(job_id)s
