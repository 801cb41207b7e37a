-- name: stored :many
-- The versions of instances in these windows with a place in a table, in the order in which they were produced.
select distinct v.entity_id, v.seq, v.start_, v.end_, v.produced_at, v.run, v.code, v.fingerprint, v.storage::text, v.row_count, v.byte_count, v.complete
from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
cross join lateral (select * from instance_versions i
                    where i.entity_id = w.entity_id and i.end_ > w.start_ and i.start_ < w.end_ and i.storage ? 'delta_version' and i.storage ? 'table'
                    offset 0) v
order by v.produced_at, v.seq limit %(limit)s

-- name: verdicts :many
-- The changes, in order, of the marks that count against a version in these windows; the marks that one report takes away come before those it sets.
select distinct c.entity_id, c.seq, c.kind, c.ref, c.start_, c.end_, c.added
from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
join status_changes c on c.entity_id = w.entity_id and c.end_ > w.start_ and c.start_ < w.end_
where c.kind in ('tainted', 'inherited', 'suspect', 'quarantined', 'deleted')
order by c.seq, c.added

-- name: stored_versions :many
-- Versions by the seq of their reports: as what they were reported.
select v.seq, v.start_, v.end_, v.produced_at, v.run, v.storage::text, r.body::text
from instance_versions v join status_reports r on r.seq = v.seq where v.seq = any(%(seqs)b::int8[]) order by v.seq, v.start_
