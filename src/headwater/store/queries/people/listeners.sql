-- name: after :many
-- Events after a place in the order of arrival and up to a number: so many, and so many bytes but for the first.
select arrived, event_time, digest, kind, event_type, received_at, body from (
  select *, sum(octet_length(body)) over (order by arrived, event_time, digest) - octet_length(body) as before
  from (select arrived, event_time, digest, kind, event_type, received_at, body from events
        where arrived >= %(arrived)s and arrived <= %(top)s
          and (arrived, event_time, digest) > (%(arrived)s::bigint, %(event_time)s::timestamptz, %(digest)b::bytea)
        order by arrived, event_time, digest limit %(limit)s) x) y
where before < %(bytes)s order by arrived, event_time, digest

-- name: again :many
-- Events after a place in the order of event time, of those a listener's place has passed: so many, and so many bytes but for the first.
select arrived, event_time, digest, kind, event_type, received_at, body from (
  select *, sum(octet_length(body)) over (order by event_time, digest) - octet_length(body) as before
  from (select coalesce(arrived, 0) as arrived, event_time, digest, kind, event_type, received_at, body from events
        where event_time >= %(from_time)s and (event_time, digest) > (%(from_time)s::timestamptz, %(from_digest)b::bytea)
          and (arrived is null or (arrived, event_time, digest) <= (%(arrived)s::bigint, %(event_time)s::timestamptz, %(digest)b::bytea))
        order by event_time, digest limit %(limit)s) x) y
where before < %(bytes)s order by event_time, digest

-- name: add :maybe
-- Keep a new listener; no row when the name is taken.
insert into listeners (id, name, kind, url, secret, filter, created_by, paused, arrived, replay_time, replay_digest)
values (%(id)s, %(name)s, %(kind)s, %(url)s, %(secret)b, %(filter)s::jsonb, %(created_by)s, %(paused)s, %(arrived)s, %(since)s::timestamptz,
        case when %(since)s::timestamptz is not null then ''::bytea end)
on conflict (name) do nothing
returning id

-- name: all :many
-- Every listener, by name.
select id, name, kind, url, secret, previous_secret, previous_until, filter::text, created_at, created_by, revision, paused, arrived, event_time, digest,
       replay_time, replay_digest, delivered, refused, last_delivery_at, failing_since, failures, last_error, lease_owner, lease_until, inside
from listeners order by name

-- name: named :maybe
-- One listener.
select id, name, kind, url, secret, previous_secret, previous_until, filter::text, created_at, created_by, revision, paused, arrived, event_time, digest,
       replay_time, replay_digest, delivered, refused, last_delivery_at, failing_since, failures, last_error, lease_owner, lease_until, inside
from listeners where name = %(name)s

-- name: waiting :one
-- Events that have arrived and are not delivered, counted up to a limit, and when the one that waits longest came.
select count(*), min(received_at) from (
  select received_at from events where arrived >= %(arrived)s
    and (arrived, event_time, digest) > (%(arrived)s::bigint, %(event_time)s::timestamptz, %(digest)b::bytea)
  order by arrived, event_time, digest limit %(limit)s) x

-- name: to_repeat :one
-- Events a replay has before it, counted up to a limit.
select count(*) from (
  select from events where event_time >= %(from_time)s and (event_time, digest) > (%(from_time)s::timestamptz, %(from_digest)b::bytea)
    and (arrived is null or (arrived, event_time, digest) <= (%(arrived)s::bigint, %(event_time)s::timestamptz, %(digest)b::bytea))
  limit %(limit)s) x

-- name: pause :exec
-- Stop or go on; the delivering process sees the revision move.
update listeners set paused = %(paused)s, revision = revision + 1, failing_since = null, failures = 0, last_error = null where name = %(name)s

-- name: remove :exec
-- Gone, with its refusals.
delete from listeners where name = %(name)s

-- name: replay :exec
-- Deliver again what has this event time or a later one; a replay under way begins anew.
update listeners set replay_time = %(since)s, replay_digest = '', revision = revision + 1 where name = %(name)s

-- name: set_secret :exec
-- A new secret; the old one is valid until a time.
update listeners set previous_secret = secret, previous_until = %(until)s, secret = %(secret)b, revision = revision + 1 where name = %(name)s

-- name: lease :many
-- Take listeners without a delivering process, and keep those of this process: until so many seconds from now, written when half of them are over.
update listeners set lease_owner = %(owner)s, lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)
where not paused and (lease_until is null or lease_until not between clock_timestamp() and clock_timestamp() + interval '1 hour'
  or (lease_owner = %(owner)s and lease_until < clock_timestamp() + make_interval(secs => %(seconds)s / 2)))
returning id

-- name: held :many
-- The listeners that this process delivers to.
select id, name, kind, url, secret, previous_secret, previous_until, filter::text, created_at, created_by, revision, paused, arrived, event_time, digest,
       replay_time, replay_digest, delivered, refused, last_delivery_at, failing_since, failures, last_error, lease_owner, lease_until, inside
from listeners where lease_owner = %(owner)s and not paused

-- name: release :exec
-- Let everything go.
update listeners set lease_owner = null, lease_until = null where lease_owner = %(owner)s

-- name: progress :exec
-- Set the progress of a listener; nothing when it was changed meanwhile, or another process delivers now.
update listeners set arrived = %(arrived)s, event_time = %(event_time)s, digest = %(digest)b, replay_time = %(replay_time)s, replay_digest = %(replay_digest)b,
  delivered = delivered + %(delivered)s, refused = refused + %(refused)s,
  last_delivery_at = case when %(delivered)s > 0 then clock_timestamp() else last_delivery_at end,
  failing_since = case when %(error)s::text is null then null else coalesce(failing_since, clock_timestamp()) end,
  failures = case when %(error)s::text is null then 0 else failures + 1 end, last_error = %(error)s,
  paused = paused or %(gone)s, revision = revision + %(gone)s::int
where id = %(id)s and lease_owner = %(owner)s and revision = %(revision)s

-- name: refuse :exec
-- Remember what a listener would not take.
insert into listener_refusals (listener_id, digest, event_time, reason)
select %(id)s::uuid, * from unnest(%(digests)b::bytea[], %(times)b::timestamptz[], %(reasons)b::text[])
on conflict (listener_id, digest, event_time) do update set at = clock_timestamp(), reason = excluded.reason

-- name: forget :exec
-- Only the last refusals of a listener stay.
delete from listener_refusals r where r.listener_id = %(id)s
  and (r.digest, r.event_time) not in (select digest, event_time from listener_refusals where listener_id = %(id)s order by at desc limit %(keep)s)

-- name: refusals :many
-- The last refusals of a listener, the latest first.
select digest, event_time, at, reason from listener_refusals where listener_id = %(id)s order by at desc, digest limit %(limit)s
