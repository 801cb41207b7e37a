-- name: using_jobs :many
-- The jobs that read or write a dataset (under any of its names) or did, with how many of their runs since a time did, and when the last did.
with member as (
  select %(dataset)s::uuid as id union select dataset_id from dataset_canonical where canonical_id = %(dataset)s::uuid
), used as (
  select e.job_id, e.direction, max(coalesce(greatest(e.last_at, e.declared_at), e.first_at)) as last_at
  from member m join edges e on e.dataset_id = m.id group by 1, 2
)
select u.job_id, u.direction, u.last_at, (
  select count(*) from runs r where r.job_id = u.job_id and r.first_event_at >= %(since)s and exists (
    select from report_datasets d join member m on m.id = d.dataset_id where d.job_id = u.job_id and d.report_id = r.run_id and d.direction = u.direction))
from used u order by u.last_at desc nulls last, u.job_id limit %(limit)s
