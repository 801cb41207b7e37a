-- name: latest :many
-- The latest runs of each of these jobs, at most so many of each, the latest first.
select l.* from unnest(%(ids)b::uuid[]) as j (id) cross join lateral (
  select run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end
  from runs where job_id = j.id order by first_event_at desc, run_id limit %(limit)s) l

-- name: by_keys :many
-- Runs by run and job.
select r.run_id, r.job_id, r.external_id, r.state, r.first_event_at, r.last_event_at, r.started_at, r.ended_at, r.parent_run_id, r.parent_job_id, r.nominal_start, r.nominal_end
from unnest(%(runs)b::uuid[], %(jobs)b::uuid[]) as u (run_id, job_id) join runs r on r.run_id = u.run_id and r.job_id = u.job_id

-- name: run_datasets :many
-- Inputs and outputs of these runs, by the names that stand for them.
select distinct d.report_id, d.job_id, d.direction, coalesce(c.canonical_id, d.dataset_id)
from unnest(%(runs)b::uuid[], %(jobs)b::uuid[]) as u (run_id, job_id)
join stated_datasets d on d.job_id = u.job_id and d.report_id = u.run_id
left join dataset_canonical c on c.dataset_id = d.dataset_id

-- name: read :many
-- The version of each input that these runs found when they began (see runs.read_versions), and the run that wrote it.
with told as (
  select u.run_id, u.job_id, u.at, coalesce(c.canonical_id, d.dataset_id) as node, (
    select array_agg(s.part) from report_subsets s
    where s.job_id = u.job_id and s.report_id = u.run_id and s.dataset_id = any(array_agg(d.dataset_id)) and s.direction = 'in') as parts
  from unnest(%(runs)b::uuid[], %(jobs)b::uuid[], %(ats)b::timestamptz[]) as u (run_id, job_id, at)
  join stated_datasets d on d.job_id = u.job_id and d.report_id = u.run_id and d.direction = 'in'
  left join dataset_canonical c on c.dataset_id = d.dataset_id
  group by u.run_id, u.job_id, u.at, coalesce(c.canonical_id, d.dataset_id)
)
select t.run_id, t.job_id, t.node, x.id, x.run_id, x.job_id from told t left join lateral (
  select v.* from (select t.node as id union select dataset_id from dataset_canonical where canonical_id = t.node) m cross join lateral (
    select v.id, v.run_id, v.job_id, v.written_at from dataset_versions v
    left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
    where v.dataset_id = m.id and v.written_at <= t.at and (v.run_id is null or v.run_id <> t.run_id) and (coalesce(r.state, 3) not in (4, 5) or v.checkpoint)
      and (t.parts is null or v.run_id is null or exists (
        select 1 from report_subsets s where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out' and s.part = any(t.parts))
        or not exists (select 1 from report_subsets s where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out'))
      and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = any(array(select n from names_of(v.dataset_id) n)) and c.parent_run_id = v.run_id))
    order by v.written_at desc, v.id limit 1) v
  order by v.written_at desc, v.id limit 1) x on true

-- name: written :many
-- The versions that these runs wrote; of several versions of one dataset, one with an external version, the latest, comes last.
select v.run_id, v.job_id, coalesce(c.canonical_id, v.dataset_id), v.id
from dataset_versions v left join dataset_canonical c on c.dataset_id = v.dataset_id
where v.run_id = any(%(runs)b::uuid[]) and v.job_id = any(%(jobs)b::uuid[])
order by v.external_version <> '', v.written_at, v.id

-- name: last_of_datasets :many
-- The last run that reported each of these datasets, under any of its names.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
), last_edge as (
  select distinct on (m.node) m.node, e.dataset_id, e.job_id from member m join edges e on e.dataset_id = m.id
  where e.last_at is not null order by m.node, e.last_at desc, e.job_id, e.dataset_id
)
select l.node, x.report_id, l.job_id from last_edge l cross join lateral (
  select d.report_id from reports r join stated_datasets d on d.job_id = r.job_id and d.report_id = r.report_id and d.dataset_id = l.dataset_id
  where r.job_id = l.job_id and not r.declaration order by r.first_at desc, r.report_id limit 1) x

-- name: last_readers :many
-- The last run of each job that read these datasets between two times, of at most so many jobs of each: those that reported it last.
with asked as (
  select * from unnest(%(datasets)b::uuid[], %(since)b::timestamptz[], %(until)b::timestamptz[]) with ordinality as a (node, since, until, place)
), member as (
  select a.place, a.since, a.until, a.node as id from asked a
  union select a.place, a.since, a.until, c.dataset_id from asked a join dataset_canonical c on c.canonical_id = a.node
), reading as (
  select m.*, e.job_id from member m cross join lateral (
    select job_id from edges where dataset_id = m.id and direction = 'in' and last_at is not null and last_at >= m.since
    order by last_at desc, job_id limit %(jobs)s) e
)
select g.place::int4 - 1, x.* from reading g cross join lateral (
  select r.run_id, r.job_id, r.external_id, r.state, r.first_event_at, r.last_event_at, r.started_at, r.ended_at, r.parent_run_id, r.parent_job_id, r.nominal_start, r.nominal_end
  from runs r
  where r.job_id = g.job_id and r.first_event_at < g.until and coalesce(r.started_at, r.first_event_at) >= g.since
    and exists (select from stated_datasets d where d.job_id = r.job_id and d.report_id = r.run_id and d.dataset_id = g.id and d.direction = 'in')
  order by r.first_event_at desc, r.run_id limit 1) x
order by 1, x.last_event_at, x.run_id, x.job_id

-- name: ends :many
-- The time at which each of these versions was followed by another, in any of the dataset's names: (version, time).
select v.id, (
  select min(n.written_at) from (select a.node as id union select dataset_id from dataset_canonical where canonical_id = a.node) m
  join dataset_versions n on n.dataset_id = m.id left join runs r on r.run_id = n.run_id and r.job_id = n.job_id
  where n.written_at > v.written_at and coalesce(r.state, 3) not in (4, 5))
from unnest(%(datasets)b::uuid[], %(versions)b::uuid[]) as a (node, version) join dataset_versions v on v.id = a.version
