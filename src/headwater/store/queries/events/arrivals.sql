-- name: top :one
-- The last number of arrival that was drawn; 0 when none was.
select last_value - (not is_called)::int from arrivals

-- name: writers :many
-- Transactions that hold one of these locks, under which numbers of arrival are drawn. What is asked after `top` has every one that drew a number by then.
select virtualtransaction from pg_locks
where locktype = 'advisory' and classid = 1751474532 and objid = any(%(locks)b::int8[]) and mode = 'ShareLock' and granted
  and database = (select oid from pg_database where datname = current_database())

-- name: changed :many
-- The kinds of change that have a number after this one, and `events` if an event has. Numbers that are not settled yet may be among them.
select distinct kind from latest_changes where arrived > %(after)s
union all select 'events' where exists (select from events where arrived > %(after)s)

-- name: lately :many
-- The kinds of change from a time on, and `events` if the event that arrived last is one of them.
select distinct kind from latest_changes where at >= %(since)s
union all select 'events' where (select received_at from events where arrived is not null order by arrived desc limit 1) >= %(since)s
