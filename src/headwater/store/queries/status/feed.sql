-- name: alone :one
-- True if no other transaction feeds; then this one does until it ends.
select pg_try_advisory_xact_lock(1751474532, 13)

-- name: place :one
-- The place of the feed in the log.
select arrived, event_time, digest from status_feed

-- name: move :exec
-- Move the feed to a place in the log.
update status_feed set arrived = %(arrived)s, event_time = %(event_time)s, digest = %(digest)b

-- name: of_runs :many
-- The events of these runs between two times; of each run at most so many, and so many bytes but for the first: those that begin and end it first.
select x.run_id, x.arrived, x.event_time, x.digest, x.received_at, x.body
from unnest(%(ids)b::uuid[]) as r (id) cross join lateral (
  select run_id, coalesce(arrived, 0) as arrived, event_time, digest, received_at, body,
         sum(octet_length(body)) over (order by event_type = 'RUNNING' nulls first, event_time, digest) - octet_length(body) as before
  from events where run_id = r.id and event_time >= %(first)s and event_time <= %(last)s
  order by event_type = 'RUNNING' nulls first, event_time, digest limit %(limit)s) x
where x.before < %(bytes)s order by x.run_id, x.event_time, x.digest

-- name: started :many
-- The number of the report by which these runs started an entity's instances.
select r.entity_id, r.ref, min(r.seq) from unnest(%(entity_id)b::int4[], %(run)b::text[]) as u (entity_id, run)
join status_reports r on r.entity_id = u.entity_id and r.ref = u.run and r.what = 'started' and r.ref <> '' group by 1, 2

-- name: running :many
-- Instances that these runs are reported to be making.
select entity_id, ref, start_, end_ from status_marks where kind = 'running' and kind <> 'state' and ref = any(%(runs)b::text[])
