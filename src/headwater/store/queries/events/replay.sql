-- name: tables :many
-- Tables in the schema that is looked at first.
select c.relname from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition

-- name: migrated :many
-- The migrations that ran.
select name from migrations

-- name: clock :one
-- The database's clock, which gives the times of arrival.
select clock_timestamp()

-- name: begins :one
-- The first arrival of what is left of the logs.
select least((select min(received_at) from events), (select min(at) from changes))

-- name: extent :one
-- The extent of the logs up to a time: the number of events, the number of people's changes, and a number that differs where they do.
select e.n, c.n, e.seal # c.seal from
  (select count(*) as n, coalesce(bit_xor(('x' || encode(substring(digest from 1 for 8), 'hex'))::bit(64)::bigint), 0) as seal
   from events where received_at <= %(until)s) e,
  (select count(*) as n, coalesce(bit_xor(hashtextextended(id::text, 0)), 0) as seal from changes where at <= %(until)s) c

-- name: rules_told :maybe
-- The rules about names that were last set by a time, as the audit log has them.
select (detail->'rules')::text from audit
where action = 'set_identity' and at <= %(until)s and coalesce(status, 200) < 300 and not detail ? 'dry_run' and detail ? 'rules'
order by at desc, id desc limit 1

-- name: rules_told_later :one
-- True if the audit log is whole and shows that rules were set for the first time later: then there were none before.
select exists (select from audit where action = 'set_identity' and at > %(until)s and coalesce(status, 200) < 300 and not detail ? 'dry_run')
   and not exists (select from retention where kind = 'audit' and deleted > 0)

-- name: events :many
-- The log, as it had arrived by a time.
select event_time, digest, kind, event_type, run_id, producer, received_at, body, arrived
from events where received_at <= %(until)s

-- name: warnings :many
-- The warnings about these events.
select w.event_time, w.digest, w.position, w.producer, w.code, w.place, w.message
from warnings w join events e on e.event_time = w.event_time and e.digest = w.digest where e.received_at <= %(until)s

-- name: changes :many
-- People's changes up to a time.
select id, at, author, action, target, body, node, other
from changes where at <= %(until)s

-- name: number_on :exec
-- Arrivals are numbered on from what was copied.
select setval('arrivals', greatest((select max(arrived) from events), 1))

-- name: like_source :exec
-- The log has the same holes as the one it was copied from, and events under digests of the same kinds.
update server_state set log_dropped_before = %(dropped_before)s, bytes_digests_until = %(bytes_digests_until)s
