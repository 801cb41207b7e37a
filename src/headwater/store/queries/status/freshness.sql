-- name: candidates :many
-- Datasets that were ever written, the latest reported first, and how many there are.
select d.id, count(*) over () from datasets d
where not d.hidden and (%(namespace)s::text is null or d.namespace = %(namespace)s)
  and not exists (select 1 from dataset_canonical c where c.dataset_id = d.id and c.canonical_id <> d.id)
  and (exists (select 1 from dataset_versions v where v.dataset_id = d.id)
       or exists (select 1 from dataset_canonical c join dataset_versions v on v.dataset_id = c.dataset_id where c.canonical_id = d.id))
order by d.last_seen desc, d.namespace, d.name limit %(limit)s

-- name: updates :many
-- The times at which these datasets were updated (microseconds, as text: arrays of a million times are slow to read), and the last writer: by runs that
-- ended well, and by runs that still run, which counts when they are streams. A run that failed updated nothing, unless it was a stream that had reported it before. An event without a
-- run counts from its first report.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
), update as (
  select m.node, x.* from member m cross join lateral (
    select case when v.run_id is null then v.first_at when r.state = 3 then coalesce(r.ended_at, v.written_at) else v.written_at end as at,
           v.run_id, v.job_id, v.lifecycle, coalesce(r.state, 3) = 2 as open, coalesce(v.lifecycle, '') = 'DROP' as gone
    from dataset_versions v left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
    where v.dataset_id = m.id and v.first_at <= %(until)s and (coalesce(r.state, 3) not in (4, 5) or v.checkpoint)
      and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = any(array(select n from names_of(v.dataset_id) n)) and c.parent_run_id = v.run_id))
    order by v.written_at desc limit %(limit)s) x
)
select node, string_agg((extract(epoch from at) * 1000000)::bigint::text, ',') filter (where not open and not gone),
       (array_agg(run_id order by at desc) filter (where not open and not gone))[1], (array_agg(job_id order by at desc) filter (where not open and not gone))[1],
       string_agg((extract(epoch from at) * 1000000)::bigint::text, ',') filter (where open),
       (array_agg(run_id order by at desc) filter (where open))[1], (array_agg(job_id order by at desc) filter (where open))[1],
       (array_agg(gone order by at desc) filter (where not open))[1]
from update group by node

-- name: failures :one
-- The number of runs that failed to write this dataset from a time on (the last event of a stream may be its failure), and the first of them.
with member as (
  select %(dataset)b::uuid as id union select dataset_id from dataset_canonical where canonical_id = %(dataset)b::uuid
)
select count(distinct v.run_id), min(v.first_at) from member m join dataset_versions v on v.dataset_id = m.id
join runs r on r.run_id = v.run_id and r.job_id = v.job_id
where r.state in (4, 5) and v.written_at >= %(after)s and v.written_at <= %(until)s

-- name: beats :many
-- Times of the latest events of these runs: a stream lives as long as it speaks.
select r.id, array_agg(x.event_time) from unnest(%(runs)b::uuid[]) as r (id) cross join lateral (
  select event_time from events where run_id = r.id and event_time <= %(until)s order by event_time desc limit %(limit)s) x
group by r.id

-- name: reporters :many
-- The latest runs that read or wrote this dataset.
with member as (
  select %(dataset)b::uuid as id union select dataset_id from dataset_canonical where canonical_id = %(dataset)b::uuid
), job as (
  select e.job_id, max(e.last_at) as last_at from member m join edges e on e.dataset_id = m.id group by e.job_id order by 2 desc nulls last limit %(jobs)s
)
select r.run_id, r.job_id, r.external_id, r.state, r.first_event_at, r.last_event_at, r.started_at, r.ended_at, r.parent_run_id, r.parent_job_id,
       r.nominal_start, r.nominal_end, r.user_name, r.statement
from job j cross join lateral (
  select r.* from runs r where r.job_id = j.job_id and r.first_event_at <= %(until)s
    and exists (select 1 from member m join report_datasets d on d.dataset_id = m.id where d.job_id = r.job_id and d.report_id = r.run_id)
  order by r.first_event_at desc limit %(runs)s) r
order by r.last_event_at desc, r.run_id
