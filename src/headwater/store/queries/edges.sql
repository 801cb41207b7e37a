-- name: live_at_datasets :many
-- Live edges of these datasets in one direction: reported by one of the job's last reporting runs, or by its latest declaration.
-- What is only declared yields where a child of the declaring job was seen doing it.
with candidate as (
  select dataset_id, job_id, direction from edges
  where dataset_id = any(%(ids)b) and direction = %(direction)s and first_at <= %(as_of)s
), live as (
  select job_id, report_id from live_reports((select array_agg(distinct job_id) from candidate), %(as_of)s, %(live_runs)s)
)
select d.dataset_id, d.job_id, d.direction, bool_and(d.declared), min(e.first_at), max(d.last_at)
from candidate c
join live l on l.job_id = c.job_id
join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.dataset_id = c.dataset_id and d.direction = c.direction and d.first_at <= %(as_of)s
join edges e on e.dataset_id = d.dataset_id and e.job_id = d.job_id and e.direction = d.direction
group by d.dataset_id, d.job_id, d.direction
having not bool_and(d.declared) or not exists (
  select 1 from jobs child join edges seen on seen.job_id = child.id
  where child.parent_id = d.job_id and seen.dataset_id = d.dataset_id and seen.direction = d.direction and seen.first_at <= %(as_of)s)
order by d.dataset_id, d.job_id

-- name: live_at_jobs :many
-- Live edges of these jobs in one direction (see live_at_datasets).
with live as (
  select job_id, report_id from live_reports(%(ids)b, %(as_of)s, %(live_runs)s)
)
select d.dataset_id, d.job_id, d.direction, bool_and(d.declared), min(e.first_at), max(d.last_at)
from live l
join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.direction = %(direction)s and d.first_at <= %(as_of)s
join edges e on e.dataset_id = d.dataset_id and e.job_id = d.job_id and e.direction = d.direction
group by d.dataset_id, d.job_id, d.direction
having not bool_and(d.declared) or not exists (
  select 1 from jobs child join edges seen on seen.job_id = child.id
  where child.parent_id = d.job_id and seen.dataset_id = d.dataset_id and seen.direction = d.direction and seen.first_at <= %(as_of)s)
order by d.dataset_id, d.job_id

-- name: explicit_pairs :many
-- What explicit lineage says feeds each target of these jobs; a target may be the job itself, a source may be absent ("nothing").
with live as (
  select job_id, report_id from live_reports(%(ids)b, %(as_of)s, %(live_runs)s)
)
select distinct c.job_id, c.target_id, e.source_id
from live l
join report_columns c on c.job_id = l.job_id and c.report_id = l.report_id and c.origin = 1
left join column_edges e on e.set_id = c.set_id

-- name: column_edges :many
-- Column edges of these jobs into these targets; for each report and target the evidence of highest precedence.
with live as (
  select job_id, report_id from live_reports(%(jobs)b, %(as_of)s, %(live_runs)s)
), told as (
  select c.job_id, c.target_id, c.set_id, c.origin, rank() over (partition by c.job_id, c.report_id, c.target_id order by c.origin) as place
  from live l join report_columns c on c.job_id = l.job_id and c.report_id = l.report_id
  where c.target_id = any(%(targets)b)
)
select t.job_id, t.target_id, e.target_field, e.source_id, e.source_field, min(t.origin), e.type, e.subtype, e.masking, e.description
from (select distinct job_id, target_id, set_id, origin from told where place = 1) t
join column_edges e on e.set_id = t.set_id
group by t.job_id, t.target_id, e.target_field, e.source_id, e.source_field, e.type, e.subtype, e.masking, e.description
order by t.target_id, e.target_field, e.source_id, e.source_field, e.type, e.subtype

-- name: children_with_edges :many
-- Jobs below these jobs.
select id, parent_id from jobs where parent_id = any(%(ids)b) order by namespace, name
