-- name: append :many
-- Append raw events; the digests of those that were not in the log yet. Only after begin_writing(): listeners rely on its lock.
insert into events (event_time, digest, kind, event_type, run_id, producer, body, received_at, arrived)
select t, d, k, e, r, p, b, coalesce(at, clock_timestamp()), (select nextval('arrivals'))
from unnest(%(event_time)b::timestamptz[], %(digest)b::bytea[], %(kind)b::text[], %(event_type)b::text[],
            %(run_id)b::uuid[], %(producer)b::text[], %(body)b::bytea[], %(received_at)b::timestamptz[]) as x (t, d, k, e, r, p, b, at)
on conflict do nothing
returning digest, event_time

-- name: append_warnings :exec
-- Append the warnings about events that were appended.
insert into warnings (event_time, digest, position, producer, code, place, message)
select * from unnest(%(event_time)b::timestamptz[], %(digest)b::bytea[], %(position)b::int[], %(producer)b::text[],
                     %(code)b::text[], %(place)b::text[], %(message)b::text[])
on conflict do nothing

-- name: time_of :many
-- The first time of these events in the log: an event without a time of its own keeps the time of its first arrival.
select digest, min(event_time) from events where digest = any(%(digests)b) group by digest

-- name: early_times :many
-- Those of these events that the log has under their time of arrival, because their own time was ahead of the clock then.
select w.digest, w.event_time from unnest(%(digests)b::bytea[]) as u (digest)
cross join lateral (select digest, event_time, code from warnings where digest = u.digest offset 0) w
where w.code = %(code)s

-- name: other_bodies :many
-- Those of these events that the log has with other bytes, which mean the same.
select e.digest, e.body from unnest(%(event_time)b::timestamptz[], %(digest)b::bytea[], %(sha256)b::bytea[]) as x (t, d, h)
join events e on e.digest = x.d and e.event_time = x.t where sha256(e.body) <> x.h

-- name: page_after :many
-- The log in order of identity, a page at a time: for replay, where order does not matter.
select event_time, digest, body from events
where (event_time, digest) > (%(event_time)s::timestamptz, %(digest)b::bytea)
order by event_time, digest
limit %(limit)s

-- name: lineage_events_desc :many
-- Run events between two times, newest first (Marquez: GET /events/lineage), of jobs of a namespace if one is given.
select body from events e
where run_id is not null and event_time >= %(after)s and event_time < %(before)s
  and (%(namespace)s::text is null or exists (select 1 from runs r join jobs j on j.id = r.job_id where r.run_id = e.run_id and j.namespace = %(namespace)s))
order by event_time desc, digest limit %(limit)s offset %(offset)s

-- name: lineage_events_asc :many
-- Run events between two times, oldest first, of jobs of a namespace if one is given.
select body from events e
where run_id is not null and event_time >= %(after)s and event_time < %(before)s
  and (%(namespace)s::text is null or exists (select 1 from runs r join jobs j on j.id = r.job_id where r.run_id = e.run_id and j.namespace = %(namespace)s))
order by event_time, digest limit %(limit)s offset %(offset)s

-- name: count_lineage_events :one
-- The number of run events between two times.
select count(*) from events e
where run_id is not null and event_time >= %(after)s and event_time < %(before)s
  and (%(namespace)s::text is null or exists (select 1 from runs r join jobs j on j.id = r.job_id where r.run_id = e.run_id and j.namespace = %(namespace)s))

-- name: totals :one
-- Size of the log and when it last grew.
select count(*), max(received_at) from events

-- name: of_runs :many
-- Events of these runs between two times, the latest of each run first and at most so many: a run's facets are read from them.
select x.* from unnest(%(ids)b::uuid[]) as r (id) cross join lateral (
  select run_id, event_time, digest, event_type, body from events
  where run_id = r.id and event_time >= %(first)s and event_time <= %(last)s order by event_time desc, digest desc limit %(limit)s) x
order by x.run_id, x.event_time, x.digest

-- name: of_dataset :many
-- Events between two times (the first excluded) that may report this dataset under any of its names, the oldest first: of the runs of its jobs, and those
-- about datasets. With the ids of the names.
with member as materialized (
  select %(dataset)b::uuid as id union select dataset_id from dataset_canonical where canonical_id = %(dataset)b::uuid
), run as materialized (
  select distinct r.run_id from (select distinct job_id from edges where dataset_id in (select id from member)) j
  cross join lateral (
    select run_id from runs where job_id = j.job_id and last_event_at > %(after)s and first_event_at <= %(until)s order by first_event_at, run_id limit %(limit)s) r
)
select e.event_time, e.body, array(select id from member) from (
  (select l.event_time, l.digest, l.body from run r cross join lateral (
     select event_time, digest, body from events where run_id = r.run_id and event_time > %(after)s and event_time <= %(until)s
     order by event_time, digest limit %(limit)s) l
   order by l.event_time, l.digest limit %(limit)s)
  union all
  (select event_time, digest, body from events where run_id is null and kind = 'dataset' and event_time > %(after)s and event_time <= %(until)s
   order by event_time, digest limit %(limit)s)) e
order by e.event_time, e.digest
