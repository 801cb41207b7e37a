-- name: opened :one
-- No other transaction writes status until this one ends: seq grows in the order in which it becomes known. What there is then.
select seq, recorded_at, declared, troubled from status_opened()

-- name: last :one
-- The last seq, and when it was written; 0 where there is none.
select coalesce(max(seq), 0), max(recorded_at) from (select seq, recorded_at from status_reports order by seq desc limit 1) x

-- name: seq_at :one
-- The last seq that was known at a time.
select coalesce((select seq from status_reports where recorded_at <= %(at)s::timestamptz order by recorded_at desc, seq desc limit 1), 0)

-- name: seen_keys :many
-- Those of these keys that have been used, with their reports.
select key, seq from status_reports where key = any(%(keys)b::bytea[])

-- name: runs :many
-- Reports about these runs of an entity, with the hull of the instances.
select r.entity_id, r.ref, r.what, r.happened_at, r.first_, r.end_ from unnest(%(entity_id)b::int4[], %(run)b::text[]) as u (entity_id, run)
join status_reports r on r.entity_id = u.entity_id and r.ref = u.run and r.what in ('started', 'produced', 'failed') and r.ref <> ''

-- name: marks :many
-- The marks that touch these windows, whole; a run that touches two of them comes once.
select distinct m.entity_id, m.kind, m.ref, m.start_, m.end_
from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
cross join lateral (select * from status_marks s where s.entity_id = w.entity_id and s.end_ >= w.start_ and s.start_ <= w.end_ offset 0) m

-- name: marks_of :many
-- All marks of these entities.
select entity_id, kind, ref, start_, end_ from status_marks where entity_id = any(%(ids)b::int4[])

-- name: marks_by_ref :many
-- All marks of these kinds with this ref, of all instances.
select entity_id, kind, ref, start_, end_ from status_marks
where kind = any(%(kinds)b::text[]) and kind <> 'state' and ref = %(ref)s

-- name: marks_by_kind :many
-- All marks of these kinds, of all instances.
select entity_id, kind, ref, start_, end_ from status_marks where kind = any(%(kinds)b::text[]) and kind <> 'state'

-- name: having :many
-- The entities that have marks of these kinds.
select distinct entity_id from status_marks where kind = any(%(kinds)b::text[]) and kind <> 'state'

-- name: unmark :exec
-- Runs that do not hold any more.
delete from status_marks m
using unnest(%(entity_id)b::int4[], %(kind)b::text[], %(ref)b::text[], %(end_)b::int8[]) as u (entity_id, kind, ref, end_)
where m.entity_id = u.entity_id and m.end_ = u.end_ and m.kind = u.kind and m.ref = u.ref

-- name: mark :exec
-- Runs that hold from now on.
insert into status_marks (entity_id, kind, ref, start_, end_)
select * from unnest(%(entity_id)b::int4[], %(kind)b::text[], %(ref)b::text[], %(start_)b::int8[], %(end_)b::int8[])

-- name: report :exec
-- Append reports.
insert into status_reports (seq, recorded_at, key, entity_id, what, ref, first_, end_, happened_at, actor, reason, body)
select u.seq, u.recorded_at, u.key, u.entity_id, u.what, u.ref, u.first_, u.end_, u.happened_at, u.actor, u.reason, u.body::jsonb
from unnest(%(seq)b::int8[], %(recorded_at)b::timestamptz[], %(key)b::bytea[], %(entity_id)b::int4[], %(what)b::text[], %(ref)b::text[],
            %(first_)b::int8[], %(end_)b::int8[], %(happened_at)b::timestamptz[], %(actor)b::text[], %(reason)b::text[], %(body)b::text[])
     as u (seq, recorded_at, key, entity_id, what, ref, first_, end_, happened_at, actor, reason, body)

-- name: change :exec
-- The marks that these reports set and took away.
insert into status_changes (entity_id, seq, kind, ref, start_, end_, added)
select * from unnest(%(entity_id)b::int4[], %(seq)b::int8[], %(kind)b::text[], %(ref)b::text[], %(start_)b::int8[], %(end_)b::int8[], %(added)b::bool[])

-- name: version :exec
-- Add the versions that runs wrote.
insert into instance_versions (entity_id, seq, start_, end_, produced_at, run, code, fingerprint, storage, row_count, byte_count, complete)
select u.entity_id, u.seq, u.start_, u.end_, u.produced_at, u.run, u.code, u.fingerprint, u.storage::jsonb, u.row_count, u.byte_count, u.complete
from unnest(%(entity_id)b::int4[], %(seq)b::int8[], %(start_)b::int8[], %(end_)b::int8[], %(produced_at)b::timestamptz[], %(run)b::text[],
            %(code)b::text[], %(fingerprint)b::text[], %(storage)b::text[], %(row_count)b::int8[], %(byte_count)b::int8[], %(complete)b::bool[])
     as u (entity_id, seq, start_, end_, produced_at, run, code, fingerprint, storage, row_count, byte_count, complete)

-- name: read :exec
-- Add the versions' inputs.
insert into instance_reads (seq, upstream_id, start_, end_, read_seq)
select * from unnest(%(seq)b::int8[], %(upstream_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[], %(read_seq)b::int8[])
on conflict do nothing

-- name: versions :many
-- The versions of instances in these windows, in the order in which they were produced.
select distinct v.entity_id, v.seq, v.start_, v.end_, v.produced_at, v.run, v.code, v.fingerprint, v.storage::text, v.row_count, v.byte_count, v.complete
from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
cross join lateral (select * from instance_versions i
                    where i.entity_id = w.entity_id and i.end_ > w.start_ and i.start_ < w.end_ and i.seq <= %(seq)s offset 0) v
order by v.produced_at, v.seq

-- name: deletions :many
-- The instances deleted in these windows after a seq.
select distinct c.entity_id, c.seq, c.start_, c.end_
from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
join status_changes c on c.entity_id = w.entity_id and c.seq > %(since)s and c.added and c.kind = 'deleted' and c.end_ > w.start_ and c.start_ < w.end_

-- name: reads :many
-- The inputs of these versions.
select seq, upstream_id, start_, end_, read_seq from instance_reads where seq = any(%(seqs)b::int8[]) order by seq, upstream_id, start_

-- name: changes :many
-- The changes of an entity's marks until a seq, in that order.
select kind, ref, start_, end_, added from status_changes
where entity_id = %(entity_id)s and seq <= %(seq)s and end_ > %(start_)s and start_ < %(end_)s order by seq, added

-- name: reports :many
-- Reports about an entity's instances, the latest first.
select seq, recorded_at, what, ref, happened_at, actor, reason, body::text from status_reports
where entity_id = %(entity_id)s and first_ < %(end_)s and end_ > %(start_)s and seq <= %(seq)s order by seq desc limit %(limit)s offset %(offset)s

-- name: since :many
-- Reports after a seq, in that order.
select r.seq, r.recorded_at, r.entity_id, r.what, r.ref, r.first_, r.end_, r.happened_at, r.actor, r.reason, r.body::text from status_reports r
where r.seq > %(seq)s and (%(ids)b::int4[] is null or r.entity_id = any(%(ids)b::int4[])) order by r.seq limit %(limit)s

-- name: news :many
-- The entities with reports after a seq, and the last seq of each; and, as that of no entity, the last seq of all.
select entity_id, max(seq) from status_reports where seq > %(seq)s group by entity_id
union all select null, coalesce(max(seq), 0) from status_reports

-- name: reports_of_versions :many
-- The makers of these versions, and when each was recorded.
select seq, recorded_at, actor, reason from status_reports where seq = any(%(seqs)b::int8[])

-- name: durations :many
-- The duration of the last 200 runs that produced something of each entity, in seconds: the median, the 95th percentile, and the number of runs.
select e.id, percentile_cont(0.5) within group (order by d.took), percentile_cont(0.95) within group (order by d.took), count(*)
from unnest(%(ids)b::int4[]) as e (id)
cross join lateral (
  select extract(epoch from p.happened_at - s.happened_at)::float8 as took
  from (select * from status_reports r where r.entity_id = e.id and r.what = 'produced' and r.ref <> '' order by r.seq desc limit 200) p
  join status_reports s on s.entity_id = p.entity_id and s.ref = p.ref and s.what = 'started' and s.happened_at <= p.happened_at) d
group by e.id

-- name: ran :many
-- The instances that some run was about, however it ended: their hulls.
select distinct entity_id, first_, end_ from status_reports
where entity_id = any(%(ids)b::int4[]) and what in ('started', 'produced', 'failed') and first_ < %(end_)s and end_ > %(start_)s

-- name: readers :many
-- The current versions of instances that had read any of these windows, as far as all that they read is recorded.
select distinct v.entity_id, v.start_, v.end_
from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
join instance_reads r on r.upstream_id = w.entity_id and r.end_ > w.start_ and r.start_ < w.end_
join instance_versions v on v.seq = r.seq and v.complete
where not exists (select from instance_versions n where n.entity_id = v.entity_id and n.end_ > v.start_ and n.start_ < v.end_
                  and (n.produced_at, n.seq) > (v.produced_at, v.seq))
