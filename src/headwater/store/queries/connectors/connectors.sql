-- name: add :maybe
-- Keep a new connector; no row if the name is taken.
insert into connectors (name, kind, options, secrets, every_seconds, created_by)
values (%(name)s, %(kind)s, %(options)s::text::jsonb, %(secrets)b, %(every)s, %(created_by)s)
on conflict (name) do nothing returning name

-- name: change :exec
-- Replace options and secrets, and pull anew from now on.
update connectors set options = %(options)s::text::jsonb, secrets = %(secrets)b, every_seconds = %(every)s, failures = 0,
  next_pull_at = clock_timestamp() where name = %(name)s

-- name: remove :exec
-- Remove a connector and its pulls.
delete from connectors where name = %(name)s

-- name: pause :exec
-- Stop or resume the schedule.
update connectors set paused = %(paused)s, next_pull_at = case when %(paused)s then next_pull_at else clock_timestamp() end where name = %(name)s

-- name: request :exec
-- Ask for a pull now, also of a connector that is paused.
update connectors set requested = true where name = %(name)s

-- name: all :many
-- Every connector, by name, with its last pull and its last complete one.
select c.name, c.kind, c.options, c.secrets, c.every_seconds, c.paused, c.created_at, c.created_by, c.next_pull_at, c.failures, c.failing_since,
       c.last_error, c.requested or coalesce(c.lease_until > clock_timestamp(), false), to_jsonb(l), to_jsonb(g)
from connectors c
left join lateral (select * from connector_pulls p where p.connector = c.name order by p.id desc limit 1) l on true
left join lateral (select * from connector_pulls p where p.connector = c.name and p.error is null order by p.id desc limit 1) g on true
where %(name)s::text is null or c.name = %(name)s order by c.name

-- name: pulls :many
-- Pulls of a connector, the last first.
select to_jsonb(p) from connector_pulls p where p.connector = %(name)s order by p.id desc limit %(limit)s

-- name: lease :maybe
-- Take the connector that was asked for, or is due, unless a server pulls it.
update connectors set lease_owner = %(owner)s, lease_until = clock_timestamp() + make_interval(secs => %(seconds)s), requested = false
where name = (select name from connectors
              where (lease_until is null or lease_until not between clock_timestamp() and clock_timestamp() + interval '1 hour')
                and (requested or not paused and next_pull_at <= clock_timestamp())
              order by requested desc, next_pull_at, name limit 1 for update skip locked)
returning name, kind, options, secrets, every_seconds, cursor, failures

-- name: renew :exec
-- Keep a lease; no row if it was lost.
update connectors set lease_until = clock_timestamp() + make_interval(secs => %(seconds)s) where name = %(name)s and lease_owner = %(owner)s

-- name: release :exec
-- Give a lease back without a pull.
update connectors set lease_owner = null, lease_until = null where name = %(name)s and lease_owner = %(owner)s

-- name: finish :exec
-- Note how a pull ended, and when the next one is due; no row if the lease was lost. A cursor that is null stays.
update connectors set lease_owner = null, lease_until = null, cursor = coalesce(%(cursor)s::text::jsonb, cursor),
  next_pull_at = clock_timestamp() + make_interval(secs => %(seconds)s), last_error = %(error)s,
  failures = case when %(error)s::text is null then 0 else failures + 1 end,
  failing_since = case when %(error)s::text is null then null else coalesce(failing_since, clock_timestamp()) end
where name = %(name)s and lease_owner = %(owner)s

-- name: add_pull :exec
-- Keep what a pull did.
insert into connector_pulls (connector, started_at, rows, events, refused, newest_at, warnings, error)
values (%(name)s, %(started_at)s, %(rows)s, %(events)s, %(refused)s, %(newest_at)s, %(warnings)s, %(error)s)

-- name: forget_pulls :exec
-- Forget the oldest pulls of a connector, but for so many.
delete from connector_pulls where connector = %(name)s
  and id < (select min(id) from (select id from connector_pulls where connector = %(name)s order by id desc limit %(kept)s) k)
