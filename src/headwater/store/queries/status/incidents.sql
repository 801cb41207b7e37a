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
-- The number of incidents in one state, or of all.
select count(*) from incidents where %(state)s::text is null or state = %(state)s

-- name: fixed :exec
-- Mark an incident as fixed: instances produced from then on are right.
update incidents set state = 'fixed', fixed_at = %(fixed_at)s, closed_at = %(at)s, closed_by = %(by)s, note = %(note)s where id = %(id)s

-- name: retracted :exec
-- A false alarm.
update incidents set state = 'retracted', closed_at = %(at)s, closed_by = %(by)s, note = %(note)s where id = %(id)s

-- name: condemn :exec
-- The instances that it is about, by the code that had made them.
insert into incident_roots (incident, entity_id, code, start_, end_)
select * from unnest(%(incident)b::uuid[], %(entity_id)b::int4[], %(code)b::text[], %(start_)b::int8[], %(end_)b::int8[])
on conflict do nothing

-- name: roots :many
-- The roots of these incidents.
select incident, entity_id, code, start_, end_ from incident_roots where incident = any(%(ids)b::uuid[]) order by incident, entity_id, start_

-- name: restrict :exec
-- Restrict an incident to columns of an entity; all columns where null.
insert into incident_columns (incident, entity_id, columns, since) values (%(incident)s, %(entity_id)s, %(columns)s, %(since)s) on conflict do nothing

-- name: columns :many
-- The columns that may be wrong because of an incident about some columns, by entity.
select incident, entity_id, columns, since from incident_columns where incident = %(id)s order by entity_id

-- name: spare :exec
-- Pairs of entities between which no wrong column is carried.
insert into incident_unaffected (incident, upstream_id, downstream_id)
select * from unnest(%(incident)b::uuid[], %(upstream_id)b::int4[], %(downstream_id)b::int4[]) on conflict do nothing

-- name: spared :many
-- Pairs of entities of these incidents between which no wrong column is carried.
select incident, upstream_id, downstream_id from incident_unaffected where incident = any(%(ids)b::uuid[])

-- name: spare_no_more :exec
-- The one affects the other after all, and that all that use it.
with affected as (
  delete from incident_unaffected
  where incident = %(id)s and ((upstream_id = %(upstream_id)s and downstream_id = %(downstream_id)s) or upstream_id = %(downstream_id)s)
)
insert into incident_columns (incident, entity_id, columns, since)
select %(id)s, %(downstream_id)s, null, min(since) from incident_columns where incident = %(id)s
on conflict (incident, entity_id) do update set columns = null

-- name: about :many
-- Incidents that hold and are about any instance in these windows.
select distinct r.incident from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
join incident_roots r on r.entity_id = w.entity_id and r.end_ > w.start_ and r.start_ < w.end_
join incidents i on i.id = r.incident and i.state <> 'retracted'

-- name: mark :exec
-- Marks of a new incident, which has none yet, and that reports set them.
with new as (
  select u.entity_id, u.seq, (%(kinds)b::text[])[u.kind] as kind, u.start_, u.end_
  from unnest(%(entity_id)b::int4[], %(seq)b::int8[], %(kind)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as u (entity_id, seq, kind, start_, end_)
), marked as (
  insert into status_marks (entity_id, kind, ref, start_, end_) select entity_id, kind, %(ref)s, start_, end_ from new
)
insert into status_changes (entity_id, seq, kind, ref, start_, end_, added)
select entity_id, seq, kind, %(ref)s, start_, end_, true from new

-- name: marked :one
-- Marks of these kinds (no states) with this ref: runs, a column of big-endian numbers each.
select string_agg(int4send(entity_id), ''), string_agg(int8send(start_), ''), string_agg(int8send(end_), '') from status_marks
where kind = any(%(kinds)b::text[]) and kind <> 'state' and ref = %(ref)s

-- name: unmark :exec
-- Remove these marks wherever they are; reports, one of each entity, took them away.
with gone as (
  delete from status_marks where kind = any(%(kinds)b::text[]) and kind <> 'state' and ref = %(ref)s returning entity_id, kind, start_, end_
)
insert into status_changes (entity_id, seq, kind, ref, start_, end_, added)
select g.entity_id, u.seq, g.kind, %(ref)s, g.start_, g.end_, false
from gone g join unnest(%(entity_id)b::int4[], %(seq)b::int8[]) as u (entity_id, seq) using (entity_id)
