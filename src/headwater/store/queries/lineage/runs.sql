-- name: page :many
-- Runs, the latest first.
select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end, user_name, statement, heartbeat_ms from runs
where (%(job_id)s::uuid is null or job_id = %(job_id)s) and (%(state)s::int is null or state = %(state)s) and (%(parent)s::uuid is null or parent_run_id = %(parent)s)
  and (%(label)s::text is null or (run_id, job_id) in (select l.run_id, l.job_id from run_labels l where l.name = %(label)s and l.value = %(value)s))
  and (not %(top)s or not exists (
    select 1 from runs p where p.run_id = runs.parent_run_id and p.run_id <> runs.run_id and p.parent_run_id is distinct from runs.run_id))
order by coalesce(started_at, first_event_at) desc, run_id limit %(limit)s offset %(offset)s

-- name: count :one
-- The number of runs.
select count(*) from runs
where (%(job_id)s::uuid is null or job_id = %(job_id)s) and (%(state)s::int is null or state = %(state)s) and (%(parent)s::uuid is null or parent_run_id = %(parent)s)
  and (%(label)s::text is null or (run_id, job_id) in (select l.run_id, l.job_id from run_labels l where l.name = %(label)s and l.value = %(value)s))
  and (not %(top)s or not exists (
    select 1 from runs p where p.run_id = runs.parent_run_id and p.run_id <> runs.run_id and p.parent_run_id is distinct from runs.run_id))

-- name: child_counts :many
-- The number of runs directly below each of these runs.
select parent_run_id, count(*) from runs where parent_run_id = any(%(ids)b::uuid[]) and run_id <> parent_run_id group by parent_run_id

-- name: open :many
-- Runs that have not ended, those silent for longest first.
select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end, user_name, statement, heartbeat_ms from runs
where state = 2 and (%(job_id)s::uuid is null or job_id = %(job_id)s) and (%(parent)s::uuid is null or parent_run_id = %(parent)s)
order by last_event_at, run_id limit %(limit)s

-- name: by_run_id :many
-- The run with this id, in each job that has it.
select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end, user_name, statement, heartbeat_ms from runs
where run_id = %(run_id)s order by job_id

-- name: by_run_ids :many
-- Runs with these ids, in each job that has them.
select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end, user_name, statement, heartbeat_ms from runs
where run_id = any(%(ids)b) order by run_id, job_id

-- name: by_part :many
-- Runs whose ids are in a range (begin so), or end so.
select run_id from (
  (select distinct run_id from runs where run_id between %(first)s::uuid and %(last)s::uuid limit 20)
  union
  (select distinct run_id from runs where right(run_id::text, length(%(text)s)) = %(text)s limit 20)) found limit 20

-- name: children :many
-- Runs below these runs, all the way down; the path guards against runs that are each other's parents.
with recursive below as (
  select r.run_id, r.job_id, r.parent_run_id as root, array[r.run_id] as path from runs r where r.parent_run_id = any(%(ids)b)
  union all
  select r.run_id, r.job_id, b.root, b.path || r.run_id from runs r join below b on r.parent_run_id = b.run_id
  where not r.run_id = any(b.path) and cardinality(b.path) < 32
)
select b.root, max(r.state) filter (where r.state <= 5), bool_or(r.state = 2), min(coalesce(r.started_at, r.first_event_at)) filter (where r.state <> 0),
       max(coalesce(r.ended_at, r.last_event_at)) filter (where r.state >= 3)
from below b join runs r on r.run_id = b.run_id and r.job_id = b.job_id group by b.root

-- name: ids_below :many
-- The ids of runs below these runs, all the way down; the path guards against runs that are each other's parents.
with recursive below as (
  select r.run_id, r.parent_run_id as root, array[r.run_id] as path from runs r where r.parent_run_id = any(%(ids)b)
  union all
  select r.run_id, b.root, b.path || r.run_id from runs r join below b on r.parent_run_id = b.run_id
  where not r.run_id = any(b.path) and cardinality(b.path) < 32
)
select distinct root, run_id from below

-- name: latest_of_jobs :many
-- The latest run of each of these jobs as of a time.
select l.* from unnest(%(ids)b::uuid[]) as j (id) cross join lateral (
  select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end, user_name, statement, heartbeat_ms from runs
  where job_id = j.id and first_event_at <= %(as_of)s order by first_event_at desc, run_id limit 1) l

-- name: of_dag :many
-- Runs of a DAG, the latest interval first, with the namespace of its job. Its tasks' own runs stand for one that reported nothing itself.
with dag as (
  select id, namespace from jobs where name = %(dag)s and (%(namespace)s::text is null or namespace = %(namespace)s)
), own as (
  select d.namespace, r.run_id, r.nominal_start, r.run_id as known_as from dag d join runs r on r.job_id = d.id
  union
  select d.namespace, coalesce((select p.run_id from runs p where p.run_id = r.parent_run_id limit 1), r.run_id), r.nominal_start, r.parent_run_id
  from dag d join jobs t on t.parent_id = d.id join runs r on r.job_id = t.id where r.parent_job_id = d.id
)
select namespace, run_id, max(nominal_start) from own
where (%(start)s::timestamptz is null or nominal_start = %(start)s) and (%(run)s::uuid is null or known_as = %(run)s)
group by namespace, run_id order by 3 desc nulls last, namespace, run_id limit %(limit)s::int

-- name: datasets :many
-- Inputs and outputs of a run, by the names that stand for them.
select coalesce(c.canonical_id, d.dataset_id), d.direction, bool_and(d.declared), min(d.first_at), max(d.last_at)
from stated_datasets d left join dataset_canonical c on c.dataset_id = d.dataset_id
where d.job_id = %(job_id)s and d.report_id = %(run_id)s group by 1, 2 order by 2, 1

-- name: parts :many
-- The parts of datasets that a run read or wrote.
select coalesce(c.canonical_id, s.dataset_id), s.direction, s.part from report_subsets s left join dataset_canonical c on c.dataset_id = s.dataset_id
where s.job_id = %(job_id)s and s.report_id = %(run_id)s order by 1, 2, 3

-- name: read_versions :many
-- The version of each dataset that a reader starting at this moment found: the latest written before it by a run that did not fail, or a stream's checkpoint;
-- one that wrote something of a part the reader read, where both reported parts: no column of a partition has two values.
with member as (
  select i as node, i as id from unnest(%(datasets)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(datasets)b)
), asked as (
  select m.node, array_agg(m.id) as ids, (
    select array_agg(s.part) from report_subsets s
    where s.job_id = %(job_id)s and s.report_id = %(run_id)s and s.dataset_id = any(array_agg(m.id)) and s.direction = 'in') as parts
  from member m group by m.node
)
select x.* from asked a cross join lateral (
  select a.node, v.id, v.external_version, v.run_id, v.job_id, v.written_at from dataset_versions v
  left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
  where v.dataset_id = any(a.ids) and v.written_at <= %(at)s and (v.run_id is null or v.run_id <> %(run_id)s) and (coalesce(r.state, 3) not in (4, 5) or v.checkpoint)
    and (a.parts is null or v.run_id is null or exists (
      select 1 from report_subsets s cross join unnest(a.parts) asked (part)
      where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out' and not exists (
        select 1 from json_each_text(s.part::json) x join json_each_text(asked.part::json) y using (key) where x.value <> y.value))
      or not exists (select 1 from report_subsets s where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out'))
    and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = any(array(select n from names_of(v.dataset_id) n)) and c.parent_run_id = v.run_id))
  order by v.written_at desc, v.id limit 1) x

-- name: written_versions :many
-- The versions that a run wrote.
select coalesce(c.canonical_id, v.dataset_id), v.id, v.external_version, v.declared, v.written_at, v.rows, v.bytes, v.files, v.schema_id
from dataset_versions v left join dataset_canonical c on c.dataset_id = v.dataset_id where run_id = %(run_id)s and job_id = %(job_id)s

-- name: labels :many
-- Labels of a run.
select name, value from run_labels where run_id = %(run_id)s and job_id = %(job_id)s order by name collate "C", value collate "C"

-- name: dependencies :many
-- Jobs that have to run before a job, and after it, as the latest run that says so has it: (job, upstream of it, kind, last reported).
select case when d.downstream_id = %(job)s then d.upstream_id else d.downstream_id end, d.downstream_id = %(job)s, d.kind, max(d.last_at)
from job_dependencies d
where (d.upstream_id = %(job)s or d.downstream_id = %(job)s)
  and d.last_at = (select max(o.last_at) from job_dependencies o where o.reporter_id = d.reporter_id)
group by 1, 2, 3 order by 2 desc, 1, 3
