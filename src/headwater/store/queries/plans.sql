-- name: add :exec
-- Keep a new plan.
insert into plans (id, created_at, created_by, reason, state, changed_at, seq, declared_at, items, request, inputs)
values (%(id)s, %(at)s, %(by)s, %(reason)s, 'planned', %(at)s, %(seq)s, %(declared_at)s, %(items)s, %(request)s::jsonb, %(inputs)s::jsonb)

-- name: named :maybe
-- One plan.
select id, created_at, created_by, reason, state, changed_at, seq, declared_at, items, request::text from plans where id = %(id)s

-- name: inputs :one
-- The inputs that a plan is computed from.
select inputs::text from plans where id = %(id)s

-- name: locked :maybe
-- One plan, locked until this transaction ends.
select id, created_at, created_by, reason, state, changed_at, seq, declared_at, items, request::text from plans where id = %(id)s for update

-- name: page :many
-- Plans, the latest first; in one state or all, for one incident or any.
select id, created_at, created_by, reason, state, changed_at, seq, declared_at, items, request::text, count(*) over () from plans
where (%(state)s::text is null or state = %(state)s) and (%(incident)s::text is null or request->>'incident' = %(incident)s) order by created_at desc, id desc limit %(limit)s offset %(offset)s

-- name: state :exec
-- Set the state of a plan.
update plans set state = %(state)s, changed_at = clock_timestamp() where id = %(id)s

-- name: items :many
-- Items of a plan that were begun or changed.
select number, state, attempt, worker, run, note, began_at, lease_until, ended_at from plan_items where plan = %(plan)s order by number

-- name: take :exec
-- An item is being worked on.
insert into plan_items (plan, number, state, attempt, worker, run, note, began_at, lease_until)
values (%(plan)s, %(number)s, 'running', %(attempt)s, %(worker)s, '', '', clock_timestamp(), %(lease_until)s)
on conflict (plan, number) do update set state = 'running', attempt = excluded.attempt, worker = excluded.worker, note = '',
  began_at = excluded.began_at, lease_until = excluded.lease_until, ended_at = null

-- name: renew :exec
-- It is still being worked on, and by which run.
update plan_items set lease_until = %(lease_until)s, run = case when %(run)s = '' then run else %(run)s end
where plan = %(plan)s and number = %(number)s and attempt = %(attempt)s and state = 'running'

-- name: end :exec
-- Record the end of items.
insert into plan_items (plan, number, state, attempt, worker, run, note, began_at, ended_at)
select %(plan)s, u.number, u.state, u.attempt, u.worker, u.run, u.note, clock_timestamp(), clock_timestamp()
from unnest(%(number)b::int8[], %(state)b::text[], %(attempt)b::int4[], %(worker)b::text[], %(run)b::text[], %(note)b::text[])
     as u (number, state, attempt, worker, run, note)
on conflict (plan, number) do update set state = excluded.state, run = case when excluded.run = '' then plan_items.run else excluded.run end,
  note = excluded.note, lease_until = null, ended_at = excluded.ended_at

-- name: again :exec
-- Failed items may be taken once more.
delete from plan_items where plan = %(plan)s and state = 'failed'
