-- name: find :maybe
-- The version of a dataset with this id, or the latest with this external version.
with member as (
  select %(dataset)b::uuid as node union select dataset_id from dataset_canonical where canonical_id = %(dataset)b::uuid
)
select v.id, v.run_id, v.job_id, v.external_version, v.declared, v.first_at, v.written_at, coalesce(r.state, 3), v.dataset_id, v.schema_id, v.lifecycle, v.rows, v.bytes, v.files
from member m join dataset_versions v on v.dataset_id = m.node left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
where v.id = %(id)s::uuid or v.external_version = %(external)s
order by v.id is not distinct from %(id)s::uuid desc, v.written_at desc, v.id limit 1

-- name: before :maybe
-- The version written before this one, by a run that did not fail, or a stream's checkpoint.
with member as (
  select %(dataset)b::uuid as node union select dataset_id from dataset_canonical where canonical_id = %(dataset)b::uuid
)
select v.id, v.run_id, v.job_id, v.external_version, v.declared, v.first_at, v.written_at, coalesce(r.state, 3), v.dataset_id, v.schema_id, v.lifecycle, v.rows, v.bytes, v.files
from member m join dataset_versions v on v.dataset_id = m.node left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
where (v.written_at < %(written_at)s or (v.written_at = %(written_at)s and v.id > %(id)s)) and (coalesce(r.state, 3) not in (4, 5) or v.checkpoint)
  and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = any(array(select n from names_of(v.dataset_id) n)) and c.parent_run_id = v.run_id))
order by v.written_at desc, v.id limit 1

-- name: parts :many
-- The parts of a dataset that these versions are, if their runs reported any.
select v.id, s.part from unnest(%(ids)b::uuid[]) as u (id) join dataset_versions v on v.id = u.id
join report_subsets s on s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out'
order by v.id, s.part

-- name: schemas :many
-- Schemas a dataset's versions had, one row for each stretch of versions with the same schema, the latest first.
with member as (
  select %(dataset)b::uuid as node union select dataset_id from dataset_canonical where canonical_id = %(dataset)b::uuid
), told as (
  select v.id, v.schema_id, v.first_at, v.written_at, v.run_id, v.job_id, lag(v.schema_id) over (order by v.written_at, v.id) as before
  from member m join dataset_versions v on v.dataset_id = m.node where v.schema_id is not null
), stretch as (
  select *, count(*) filter (where before is distinct from schema_id) over (order by written_at, id) as number from told
)
select schema_id, min(written_at), max(written_at), count(*), (array_agg(id order by written_at, id))[1], (array_agg(run_id order by written_at, id))[1],
       (array_agg(job_id order by written_at, id))[1], count(*) over ()
from stretch group by number, schema_id order by number desc limit %(limit)s

-- name: declarations :many
-- The latest JobEvents that declared inputs or outputs of a job, the oldest first.
select report_id, first_at from (
  select report_id, first_at from reports where job_id = %(job)s and declaration order by first_at desc, report_id limit %(limit)s) d
order by first_at, report_id

-- name: report_datasets :many
-- Inputs and outputs of these runs of a job, by the names that stand for them.
select d.report_id, d.direction, coalesce(c.canonical_id, d.dataset_id) as dataset
from unnest(%(runs)b::uuid[]) as u (id) join stated_datasets d on d.job_id = %(job)s and d.report_id = u.id
left join dataset_canonical c on c.dataset_id = d.dataset_id group by 1, 2, 3
