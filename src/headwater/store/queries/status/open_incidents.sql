-- name: failing :many
-- Jobs whose last run that ended failed or was aborted, not before a time: that run, since when they fail (the first such run since a good one),
-- and how many have since; and how many such jobs there are. A run that is part of another is shown by that one, if that one reports itself.
select j.id, r.run_id, r.state, r.ended_at, f.since, f.failures, count(*) over ()
from jobs j
cross join lateral (
  select r.run_id, r.state, coalesce(r.ended_at, r.last_event_at) as ended_at, r.first_event_at, r.parent_run_id from runs r
  where r.job_id = j.id and r.state in (3, 4, 5) order by r.first_event_at desc, r.run_id limit 1) r
cross join lateral (
  select min(coalesce(b.ended_at, b.last_event_at)) as since, count(*) as failures from runs b
  where b.job_id = j.id and b.state in (4, 5) and b.first_event_at > coalesce((
    select max(g.first_event_at) from runs g where g.job_id = j.id and g.state = 3), '-infinity')) f
where not j.hidden and r.state in (4, 5) and r.ended_at >= %(since)s
  and (r.parent_run_id is null or not exists (select from runs p where p.run_id = r.parent_run_id and p.state <> 0))
order by r.ended_at desc, j.id limit %(limit)s

-- name: recovered :many
-- The places in the list of those of these jobs and times after which a run of the job began that was good.
select nr::int4 - 1 from unnest(%(jobs)b::uuid[], %(ats)b::timestamptz[]) with ordinality as k (j, at, nr)
where exists (select from runs r where r.job_id = j and r.state = 3 and r.first_event_at > at)

-- name: neighbours :many
-- The edges of these datasets and jobs, under the names that stand for datasets.
select distinct coalesce(c.canonical_id, e.dataset_id), e.job_id, e.direction from reported_edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
where e.job_id = any(%(ids)b::uuid[]) or e.dataset_id = any(%(ids)b::uuid[])
   or e.dataset_id in (select dataset_id from dataset_canonical where canonical_id = any(%(ids)b::uuid[]))

-- name: parents :many
-- The jobs that these jobs' last runs were part of.
select r.job_id, r.parent_job_id from unnest(%(ids)b::uuid[]) as k (id)
cross join lateral (select job_id, parent_job_id from runs where job_id = k.id order by first_event_at desc limit 1) r where r.parent_job_id is not null
