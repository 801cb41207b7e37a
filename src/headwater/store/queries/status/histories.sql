-- name: there :one
-- The instances that exist or existed in these windows, one window of each entity: runs, a column of big-endian numbers each.
select string_agg(int4send(m.entity_id), ''), string_agg(int8send(m.start_), ''), string_agg(int8send(m.end_), ''), string_agg(boolsend(m.kind = 'state'), '')
from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
cross join lateral (select * from status_marks s where s.entity_id = w.entity_id and s.end_ > w.start_ and s.start_ < w.end_
                    and s.kind in ('state', 'deleted') offset 0) m

-- name: versions :one
-- The versions of instances in these windows, one of each entity, as columns; at most so many.
select string_agg(int4send(v.entity_id), ''), string_agg(int8send(v.seq), ''), string_agg(int8send(v.start_), ''), string_agg(int8send(v.end_), ''),
       string_agg(timestamptz_send(v.produced_at), ''), string_agg(boolsend(v.complete), ''),
       string_agg(int8send(coalesce(hashtextextended(v.fingerprint, 0), 0)), ''), string_agg(boolsend(v.fingerprint is not null), '')
from (select i.* from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
      cross join lateral (select entity_id, seq, start_, end_, produced_at, complete, fingerprint from instance_versions j
                          where j.entity_id = w.entity_id and j.end_ > w.start_ and j.start_ < w.end_ offset 0) i
      limit %(limit)s) v

-- name: reads :one
-- Readers of instances in these windows, as columns.
select string_agg(int8send(r.seq), ''), string_agg(int4send(r.upstream_id), ''), string_agg(int8send(r.start_), ''), string_agg(int8send(r.end_), ''),
       string_agg(int8send(r.read_seq), '')
from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
cross join lateral (select * from instance_reads j where j.upstream_id = w.entity_id and j.end_ > w.start_ and j.start_ < w.end_ offset 0) r

-- name: version_instances :many
-- The instances of these versions.
select entity_id, start_, end_ from instance_versions where seq = any(%(seqs)b::int8[])

-- name: codes :many
-- The code and the time of each version of instances in these windows, in the order in which they were produced.
select v.entity_id, v.start_, v.end_, coalesce(v.code, ''), v.produced_at
from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
cross join lateral (select * from instance_versions i where i.entity_id = w.entity_id and i.end_ > w.start_ and i.start_ < w.end_ offset 0) v
order by v.produced_at, v.seq
