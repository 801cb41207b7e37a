-- name: applied :maybe
-- The state that declarations are in at a time: number and id of the last apply until then.
select number, id from entity_applies where at <= %(at)s::timestamptz order by number desc limit 1

-- name: alone :exec
-- No other transaction changes declarations until this one ends.
select pg_advisory_xact_lock(1751474532, 11)

-- name: declared :many
-- The declarations at a time: the id of the instances' rows, and the canonical form.
select entity_id, body::text from entity_declarations
where from_at <= %(at)s::timestamptz and (until_at is null or until_at > %(at)s::timestamptz) order by entity_id

-- name: apply :one
-- A new state of declarations; when it is.
insert into entity_applies (id, at, author, changes)
values (gen_random_uuid(), greatest(clock_timestamp(), (select max(at) + interval '1 microsecond' from entity_applies)), %(author)s, %(changes)s::jsonb)
returning number, id, at

-- name: end :exec
-- These declarations hold until then.
update entity_declarations set until_at = %(at)s where entity_id = any(%(ids)b::int4[]) and until_at is null

-- name: unname :exec
-- Their names are free for others.
update entities set name = null where id = any(%(ids)b::int4[])

-- name: rename :exec
-- Rows go on under other names.
update entities e set name = u.name from unnest(%(id)b::int4[], %(name)b::text[]) as u (id, name) where e.id = u.id

-- name: named :many
-- The rows that have these names now.
select name, id, calendar from entities where name = any(%(names)b::text[])

-- name: add :many
-- New rows.
insert into entities (name, calendar) select u.name, u.calendar from unnest(%(name)b::text[], %(calendar)b::text[]) as u (name, calendar)
returning name, id

-- name: declare :exec
-- Declare entities from a time on.
insert into entity_declarations (entity_id, from_at, apply, body)
select u.id, %(at)s, %(number)s, u.body::jsonb from unnest(%(id)b::int4[], %(body)b::text[]) as u (id, body)

-- name: history :many
-- The declarations of an entity, each with its author, the latest first.
select d.from_at, d.until_at, a.author, d.body::text from entity_declarations d join entity_applies a on a.number = d.apply
where d.body ->> 'entity' = %(name)s or d.entity_id = (select id from entities where name = %(name)s)
order by d.from_at desc limit %(limit)s offset %(offset)s
