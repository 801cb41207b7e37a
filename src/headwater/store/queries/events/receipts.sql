-- name: find :many
-- Events whose digest lies between two.
select event_time, digest, kind, event_type, run_id, producer, received_at, length(body) from events
where digest >= %(first)b and digest <= %(last)b order by digest, event_time limit 5

-- name: body :one
-- The event as it came.
select body from events where digest = %(digest)b and event_time = %(event_time)s

-- name: page :many
-- Events that arrived since a time, the latest first: from a producer, with a warning of a code, of a run.
select event_time, digest, kind, event_type, run_id, producer, received_at, length(body) from events e
where received_at >= %(since)s and (%(producer)s::text is null or producer = %(producer)s) and (%(run)s::uuid is null or run_id = %(run)s)
  and (%(code)s::text is null or exists (
    select 1 from warnings w where w.digest = e.digest and w.event_time = e.event_time and w.code = %(code)s))
order by received_at desc, digest limit %(limit)s offset %(offset)s

-- name: warnings :many
-- The warnings about these events.
select w.digest, w.event_time, w.code, w.place, w.message from unnest(%(digests)b::bytea[], %(times)b::timestamptz[]) as u (digest, event_time)
join warnings w using (digest, event_time) order by w.digest, w.event_time, w.position

-- name: versions :many
-- Those of these versions that exist.
select id from dataset_versions where id = any(%(ids)b)

-- name: run_begins :many
-- The first event's time of these runs, in any job.
select run_id, min(first_event_at) from runs where run_id = any(%(ids)b) group by run_id
