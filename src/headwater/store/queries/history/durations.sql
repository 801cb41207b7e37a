-- name: of_jobs :many
-- The latest completed runs of each job that had begun by a time, oldest first: ids, beginnings, and durations in milliseconds.
select j.id, array_agg(x.run_id order by x.began, x.run_id), array_agg(x.began order by x.began, x.run_id), array_agg(x.ms order by x.began, x.run_id)
from unnest(%(ids)b::uuid[]) as j (id) cross join lateral (
  select run_id, coalesce(started_at, first_event_at) as began,
         greatest(0, extract(epoch from ended_at - coalesce(started_at, first_event_at)) * 1000)::float8 as ms
  from runs where job_id = j.id and state = 3 and ended_at is not null and first_event_at <= %(until)s
  order by first_event_at desc, run_id limit %(limit)s) x
group by j.id

-- name: active_jobs :many
-- Jobs with a completed run since a time, those with the most runs first, and how many there are.
select job_id, count(*) over () from runs
where first_event_at >= %(since)s and state = 3 and ended_at is not null
group by job_id order by count(*) desc, job_id limit %(limit)s
