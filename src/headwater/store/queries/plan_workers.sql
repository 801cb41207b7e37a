-- name: register :exec
-- A worker lives.
insert into plan_workers (name, plan, seen_at, expires_at) values (%(name)s, %(plan)s, %(at)s, %(expires_at)s)
on conflict (name) do update set plan = excluded.plan, seen_at = excluded.seen_at, expires_at = excluded.expires_at

-- name: leave :exec
-- A worker ends, and those that fell silent are forgotten.
delete from plan_workers where name = %(name)s or expires_at < %(at)s

-- name: connected :many
-- The workers that live, by name; of a plan, those that take its items.
select name, plan, seen_at from plan_workers
where expires_at > %(at)s and (%(plan)s::uuid is null or plan is null or plan = %(plan)s) order by name
