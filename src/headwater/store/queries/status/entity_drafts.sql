-- name: candidates :many
-- Datasets with a writer that are not left out, all or of a namespace or of a list, by name; and how many there are.
select d.id, d.namespace, d.name, count(*) over () from datasets d
where not d.hidden and (%(namespace)s::text is null or d.namespace = %(namespace)s)
  and (%(all)s::bool or d.id = any(%(ids)b::uuid[])) and not d.id = any(%(without)b::uuid[])
  and not exists (select 1 from dataset_canonical c where c.dataset_id = d.id and c.canonical_id <> d.id)
  and exists (
    select 1 from edges e where e.direction = 'out'
      and (e.dataset_id = d.id or e.dataset_id in (select c.dataset_id from dataset_canonical c where c.canonical_id = d.id)))
order by d.namespace, d.name limit %(limit)s

-- name: jobs :many
-- The jobs that read or wrote these datasets: how many of their runs reported anything (two stand for more), and whether their log calls them ad hoc.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
)
select m.node, j.id, e.direction, j.namespace, j.name, j.parent_id,
       (select count(*) from (select 1 from reports r where r.job_id = j.id and not r.declaration limit 2) x),
       (select r.class from recurrence r where r.job_id = j.id and not r.deleted)
from member m join edges e on e.dataset_id = m.id join jobs j on j.id = e.job_id
where not j.hidden
group by m.node, j.id, j.namespace, j.name, j.parent_id, e.direction order by j.namespace, j.name, j.id, e.direction, m.node

-- name: runs :many
-- Runs of these jobs that did not fail: the latest of each, and its first few. The time they were for: their own, or their parent's, or its parent's.
select r.job_id, r.run_id, r.started, r.ended, coalesce(r.nominal_start, p.nominal_start, g.nominal_start),
       case when r.nominal_start is not null then r.nominal_end when p.nominal_start is not null then p.nominal_end else g.nominal_end end
from unnest(%(jobs)b::uuid[]) as j (id) cross join lateral (
  (select coalesce(started_at, first_event_at) as started, coalesce(ended_at, last_event_at) as ended, * from runs
   where job_id = j.id and state not in (4, 5) order by first_event_at desc, run_id limit %(latest)s)
  union
  (select coalesce(started_at, first_event_at), coalesce(ended_at, last_event_at), * from runs
   where job_id = j.id and state not in (4, 5) order by first_event_at, run_id desc limit %(first)s)) r
left join runs p on p.run_id = r.parent_run_id and p.job_id = r.parent_job_id
left join runs g on g.run_id = p.parent_run_id and g.job_id = p.parent_job_id
order by r.started, r.run_id, r.job_id

-- name: touched :many
-- The datasets that these runs of these jobs read and wrote, and their parts.
with asked as (
  select * from unnest(%(jobs)b::uuid[], %(runs)b::uuid[]) as a (job_id, run_id)
)
select d.job_id, d.report_id, d.direction, coalesce(c.canonical_id, d.dataset_id) as node,
       (select array_agg(s.part order by s.part) from report_subsets s
        where s.job_id = d.job_id and s.report_id = d.report_id and s.dataset_id = d.dataset_id and s.direction = d.direction)
from asked a join stated_datasets d on d.job_id = a.job_id and d.report_id = a.run_id
left join dataset_canonical c on c.dataset_id = d.dataset_id
order by 1, 2, 3, 4

-- name: parents :many
-- The jobs above these jobs, up to three steps; a job that is above itself ends there.
with recursive above as (
  select id, parent_id, 0 as step from jobs where id = any(%(jobs)b)
  union select p.id, p.parent_id, a.step + 1 from above a join jobs p on p.id = a.parent_id where a.step < 3
)
select distinct j.id, j.namespace, j.name, j.parent_id from above a join jobs j on j.id = a.id order by 1
