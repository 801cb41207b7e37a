-- name: tables :many
-- Tables in the schema that is looked at first.
select c.relname from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition

-- name: migrated :many
-- Which migrations ran.
select name from migrations

-- name: clock :one
-- What the database's clock says: times of arrival are its.
select clock_timestamp()

-- name: begins :one
-- When the first of what is left of the logs arrived.
select least((select min(received_at) from events), (select min(at) from changes))

-- name: extent :one
-- What of the logs had arrived by a time: how many events, and how many changes by people, and a number that differs where they do.
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
-- Whether the audit log is whole, and has the first time rules were set: then there were none before.
select exists (select from audit where action = 'set_identity' and at > %(until)s and coalesce(status, 200) < 300 and not detail ? 'dry_run')
   and not exists (select from retention where kind = 'audit' and deleted > 0)

-- name: read_events :exec
-- The log, as it had arrived by a time.
copy (select event_time, digest, kind, event_type, run_id, producer, received_at, body, arrived from events where received_at <= %(until)s) to stdout (format binary)

-- name: write_events :exec
-- The same, into an empty log.
copy events (event_time, digest, kind, event_type, run_id, producer, received_at, body, arrived) from stdin (format binary)

-- name: read_warnings :exec
-- What was odd about these events.
copy (select w.event_time, w.digest, w.position, w.producer, w.code, w.place, w.message from warnings w
      join events e on e.event_time = w.event_time and e.digest = w.digest where e.received_at <= %(until)s) to stdout (format binary)

-- name: write_warnings :exec
-- The same.
copy warnings (event_time, digest, position, producer, code, place, message) from stdin (format binary)

-- name: read_changes :exec
-- What people had said by a time.
copy (select id, at, author, action, target, body, node, other from changes where at <= %(until)s) to stdout (format binary)

-- name: write_changes :exec
-- The same.
copy changes (id, at, author, action, target, body, node, other) from stdin (format binary)

-- name: number_on :exec
-- Arrivals are numbered on from what was copied.
select setval('arrivals', greatest((select max(arrived) from events), 1))

-- name: dropped :exec
-- The log has the same holes as the one it was copied from.
update server_state set log_dropped_before = %(before)s

-- name: make_mark :exec
-- What a database is a replay of. Only replays have this table, so no migration makes it.
create table if not exists replayed (
  until        timestamptz not null,
  seal         bigint      not null,
  copied_at    timestamptz not null default clock_timestamp(),
  projected_at timestamptz
)

-- name: mark :exec
-- The logs are whole.
insert into replayed (until, seal) values (%(until)s, %(seal)s)

-- name: marked :maybe
-- What this database is a replay of, and whether its tables are made.
select until, seal, projected_at is not null from replayed

-- name: mark_projected :exec
-- The tables are made.
update replayed set projected_at = coalesce(projected_at, clock_timestamp())
