-- name: failed :many
-- The checks that failed last, with the dataset that each is about, by the name that stands for it; of a check of a whole run, each that the run read, or
-- else wrote.
with recent as (
  select * from checks where result = 2 order by at desc, run_id, dataset_id, name, field limit %(limit)s
)
select f.run_id, f.job_id, f.dataset_id, t.direction, coalesce(c.canonical_id, t.dataset_id), f.name, f.field, f.at, f.digest, f.result, f.detail
from recent f cross join lateral (
  select f.direction, f.dataset_id where f.direction <> 'run'
  union
  select p.direction, p.dataset_id from report_datasets p
  where f.direction = 'run' and p.job_id = f.job_id and p.report_id = f.run_id
    and (p.direction = 'in' or not exists (
      select from report_datasets q where q.job_id = f.job_id and q.report_id = f.run_id and q.direction = 'in'))
) t left join dataset_canonical c on c.dataset_id = t.dataset_id
order by f.at desc, f.run_id, 5, f.name, f.field

-- name: passed_since :many
-- Results of these checks of these datasets and jobs, under any of their names, that came at or after a time and are no failures.
with asked as (
  select * from unnest(%(subjects)b::uuid[], %(names)b::text[], %(fields)b::text[], %(ats)b::timestamptz[]) as a (subject, name, field, at)
), member as (
  select subject, subject as id from asked
  union select a.subject, d.dataset_id from asked a join dataset_canonical c on c.dataset_id = a.subject join dataset_canonical d on d.canonical_id = c.canonical_id
)
select distinct k.run_id, k.job_id, k.dataset_id, t.direction, coalesce(c.canonical_id, t.dataset_id), k.name, k.field, k.at, k.digest, k.result, k.detail
from asked a join member m on m.subject = a.subject
join checks k on k.dataset_id = m.id and k.name = a.name and k.field = a.field and k.at >= a.at and k.result < 2
cross join lateral (
  select k.direction, k.dataset_id where k.direction <> 'run'
  union
  select p.direction, p.dataset_id from report_datasets p
  where k.direction = 'run' and p.job_id = k.job_id and p.report_id = k.run_id
    and (p.direction = 'in' or not exists (
      select from report_datasets q where q.job_id = k.job_id and q.report_id = k.run_id and q.direction = 'in'))
) t left join dataset_canonical c on c.dataset_id = t.dataset_id

-- name: call_fine :exec
-- Say of these versions that they are right as they are.
insert into fine_versions (version_id, at, author, note)
select id, %(at)s, %(author)s, %(note)s from unnest(%(versions)b::uuid[]) as u (id)
on conflict (version_id) do update set at = excluded.at, author = excluded.author, note = excluded.note

-- name: fine :many
-- The versions that people called right, and when.
select version_id, at from fine_versions
