-- name: ended_around :many
-- The ended runs of a job about a time, oldest first: the latest `before` that had begun by then, and the next `after`.
select * from (
  (select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end, user_name, statement, heartbeat_ms
   from runs where job_id = %(job_id)s and state in (3, 4, 5) and first_event_at <= %(at)s order by first_event_at desc, run_id desc limit %(before)s)
  union all
  (select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end, user_name, statement, heartbeat_ms
   from runs where job_id = %(job_id)s and state in (3, 4, 5) and first_event_at > %(at)s order by first_event_at, run_id limit %(after)s)) r
order by first_event_at, run_id

-- name: last_of_state :many
-- The latest run of a job that ended in one of these states, and had begun before a time.
select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end, user_name, statement, heartbeat_ms
from runs where job_id = %(job_id)s and state = any(%(states)b::int2[]) and first_event_at < %(until)s order by first_event_at desc, run_id desc limit 1

-- name: inputs_of :many
-- The datasets that these runs report as read, or declare; and those that runs below them report (200 of each), but for what these write themselves.
with k as materialized (
  select * from unnest(%(runs)b::uuid[], %(jobs)b::uuid[]) as k (run_id, job_id)
), below as materialized (
  select k.run_id, k.job_id, d.dataset_id, d.direction from k
  cross join lateral (select run_id, job_id from runs where parent_run_id = k.run_id order by first_event_at, run_id limit 200) c
  join stated_datasets d on d.job_id = c.job_id and d.report_id = c.run_id
)
select x.run_id, x.job_id, coalesce(c.canonical_id, x.dataset_id) from (
  select k.run_id, k.job_id, d.dataset_id from k join stated_datasets d on d.job_id = k.job_id and d.report_id = k.run_id and d.direction = 'in'
  union
  select b.run_id, b.job_id, b.dataset_id from below b where b.direction = 'in' and not exists (
    select from below w where w.run_id = b.run_id and w.job_id = b.job_id and w.dataset_id = b.dataset_id and w.direction = 'out')) x
left join dataset_canonical c on c.dataset_id = x.dataset_id
group by 1, 2, 3 order by 1, 2, 3

-- name: schemas_of :many
-- The schema facets that these versions have.
select v.id, b.body from dataset_versions v join facet_bodies b on b.id = v.schema_id where v.id = any(%(ids)b)

-- name: latest_of_outcomes :many
-- Of each job the latest run that failed since a time and the latest that ended well in a longer one: at most `limit` jobs of each outcome, drawn by the
-- digests of their ids, which say nothing of them. With how many jobs there are of the outcome.
select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end, user_name, statement, heartbeat_ms, total
from (
  select l.*, count(*) over (partition by l.good) as total, row_number() over (partition by l.good order by hashtextextended(l.job_id::text, 0), l.job_id) as place
  from (
    select distinct on (r.job_id, r.state = 3) r.*, r.state = 3 as good from runs r
    where r.first_event_at < %(until)s and (r.state = 3 and r.first_event_at >= %(good_since)s or r.state in (4, 5) and r.first_event_at >= %(since)s)
    order by r.job_id, r.state = 3, r.first_event_at desc, r.run_id) l) x
where place <= %(limit)s order by first_event_at, run_id, job_id
