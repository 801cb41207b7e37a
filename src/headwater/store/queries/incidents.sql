-- name: open :exec
-- A new verdict.
insert into incidents (id, opened_seq, opened_at, opened_by, reason, state) values (%(id)s, %(seq)s, %(at)s, %(by)s, %(reason)s, 'open')
on conflict (id) do nothing

-- name: named :many
-- These incidents.
select id, opened_seq, opened_at, opened_by, reason, state, fixed_at, closed_at, closed_by, note from incidents where id = any(%(ids)b::uuid[])

-- name: page :many
-- Incidents, the latest first; in one state, or all.
select id, opened_seq, opened_at, opened_by, reason, state, fixed_at, closed_at, closed_by, note from incidents
where %(state)s::text is null or state = %(state)s order by opened_at desc, id desc limit %(limit)s offset %(offset)s

-- name: count :one
-- How many there are in one state, or of all.
select count(*) from incidents where %(state)s::text is null or state = %(state)s

-- name: fixed :exec
-- What is produced from then on is right.
update incidents set state = 'fixed', fixed_at = %(fixed_at)s, closed_at = %(at)s, closed_by = %(by)s, note = %(note)s where id = %(id)s

-- name: retracted :exec
-- A false alarm.
update incidents set state = 'retracted', closed_at = %(at)s, closed_by = %(by)s, note = %(note)s where id = %(id)s
