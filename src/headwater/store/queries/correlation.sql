-- name: nodes :many
-- Nodes by their ids.
select id, kind, dataset_id, run_id, job_id, external_version, bytes, at, collided from correlation_items where id = any(%(ids)b::uuid[]) order by id

-- name: of_run :many
-- The nodes of a run, one for each job that had the run's id.
select id from correlation_items where run_id = %(run)s and kind = 'RUN' order by id

-- name: of_version :many
-- Contents with this version or fingerprint, of whatever dataset.
select id from correlation_items where external_version = %(version)s and kind = 'CONTENT' order by id

-- name: descendants :many
-- Everything below one node by steps, the nearest first.
select descendant_id, depth from correlation_paths where ancestor_id = %(id)s and depth <= %(depth)s order by depth, descendant_id limit %(limit)s

-- name: ancestors :many
-- Everything above one node by steps, the nearest first.
select ancestor_id, depth from correlation_paths where descendant_id = %(id)s and depth <= %(depth)s order by depth, ancestor_id limit %(limit)s

-- name: descendants_of_many :many
-- Everything below any of these nodes by the fewest steps from one of them, the nearest first.
select descendant_id, min(depth) from correlation_paths where ancestor_id = any(%(ids)b::uuid[]) and depth <= %(depth)s
group by 1 order by 2, 1 limit %(limit)s

-- name: ancestors_of_many :many
-- Everything above any of these nodes by the fewest steps from one of them, the nearest first.
select ancestor_id, min(depth) from correlation_paths where descendant_id = any(%(ids)b::uuid[]) and depth <= %(depth)s
group by 1 order by 2, 1 limit %(limit)s

-- name: descendants_beyond :many
-- As before, beyond the closure's bound: what is exactly at the bound is where to go on from. Every way that long has a node there.
with recursive base (id, depth) as (
  select id, 0 from unnest(%(ids)b::uuid[]) as id
  union
  select p.descendant_id, b.depth + %(bound)s from base b
  join correlation_paths p on p.ancestor_id = b.id and p.depth = %(bound)s
  where b.depth + %(bound)s <= %(depth)s
), nearest as (select id, min(depth) as depth from base group by id)
select id, min(depth) from (
  select id, depth from nearest where depth > 0
  union all select p.descendant_id, n.depth + p.depth from nearest n join correlation_paths p on p.ancestor_id = n.id) found
where depth <= %(depth)s group by 1 order by 2, 1 limit %(limit)s

-- name: ancestors_beyond :many
-- As before, upwards.
with recursive base (id, depth) as (
  select id, 0 from unnest(%(ids)b::uuid[]) as id
  union
  select p.ancestor_id, b.depth + %(bound)s from base b
  join correlation_paths p on p.descendant_id = b.id and p.depth = %(bound)s
  where b.depth + %(bound)s <= %(depth)s
), nearest as (select id, min(depth) as depth from base group by id)
select id, min(depth) from (
  select id, depth from nearest where depth > 0
  union all select p.ancestor_id, n.depth + p.depth from nearest n join correlation_paths p on p.descendant_id = n.id) found
where depth <= %(depth)s group by 1 order by 2, 1 limit %(limit)s

-- name: edges_among :many
-- Edges between these nodes, refused ones too.
select parent_id, child_id, weight, role, refused from correlation_edges
where parent_id = any(%(ids)b::uuid[]) and child_id = any(%(ids)b::uuid[]) order by parent_id, child_id

-- name: lock :exec
-- One writer at a time looks after the closure; each sees what the one before it left. From here on nothing is cut short by its time: what an
-- edge between two large graphs adds is large, and to be told to come again would help nobody.
select pg_advisory_xact_lock(1751474532, 8), set_config('statement_timeout', '0', true)

-- name: upsert_edges :many
-- Edges by the earliest event that says so, written under the lock only; those that are new or became earlier. A node that is its own parent is
-- refused at once.
insert into correlation_edges as t (parent_id, child_id, weight, role, at, digest, refused)
select distinct on (parent_id, child_id) parent_id, child_id, case role when 3 then 0 else 1 end, role, at, digest, parent_id = child_id
from unnest(%(parent_id)b::uuid[], %(child_id)b::uuid[], %(role)b::int2[], %(at)b::timestamptz[], %(digest)b::bytea[]) as u (parent_id, child_id, role, at, digest)
order by parent_id, child_id, at, digest
on conflict (parent_id, child_id) do update set at = excluded.at, digest = excluded.digest where (excluded.at, excluded.digest) < (t.at, t.digest)
returning parent_id, child_id, weight, role, at, digest, refused, xmax = 0

-- name: bridges :many
-- Which of these children reach which of these parents in the closure as it is, however far: (child, parent).
with recursive base (child, id) as (
  select c, c from unnest(%(children)b::uuid[]) as c where exists (select from correlation_paths p where p.ancestor_id = c)
  union
  select b.child, p.descendant_id from base b join correlation_paths p on p.ancestor_id = b.id and p.depth = %(bound)s
), above as (
  select q as id from unnest(%(parents)b::uuid[]) as q where exists (select from correlation_paths p where p.descendant_id = q)
)
select distinct b.child, a.id from base b cross join above a
where a.id = b.id and a.id <> b.child
   or exists (select from correlation_paths p where p.descendant_id = a.id and p.ancestor_id = b.id)

-- name: extend :exec
-- Add edges to the closure, layer by layer.
select extend_correlation(%(parents)b::uuid[], %(children)b::uuid[], %(weights)b::int2[], %(ends)b::int4[], %(bound)s)

-- name: tangle :many
-- Edges between whatever is below any of these children and above any of these parents, refused ones too: every loop through an edge from one of the
-- parents to one of the children is among them, whole.
with recursive down (id) as (
  select unnest(%(children)b::uuid[])
  union select e.child_id from down d join correlation_edges e on e.parent_id = d.id
), up (id) as (
  select unnest(%(parents)b::uuid[])
  union select e.parent_id from up u join correlation_edges e on e.child_id = u.id
), both_ways (id) as (
  select id from down intersect select id from up
)
select e.parent_id, e.child_id, e.weight, e.role, e.at, e.digest, e.refused from correlation_edges e
where e.parent_id in (select id from both_ways) and e.child_id in (select id from both_ways)
order by e.parent_id, e.child_id

-- name: decide :exec
-- Which edges are refused now.
update correlation_edges e set refused = u.refused
from unnest(%(parents)b::uuid[], %(children)b::uuid[], %(refused)b::bool[]) as u (parent_id, child_id, refused)
where e.parent_id = u.parent_id and e.child_id = u.child_id

-- name: forget :many
-- Take these nodes, and what is below them up to the bound, out of the closure as descendants; their ids.
with below as (
  select unnest(%(ids)b::uuid[]) as id union select descendant_id from correlation_paths where ancestor_id = any(%(ids)b::uuid[])
), gone as (
  delete from correlation_paths p using below b where p.descendant_id = b.id
)
select id from below

-- name: leading_to :many
-- Edges to these nodes that are not refused.
select parent_id, child_id, weight from correlation_edges where child_id = any(%(ids)b::uuid[]) and not refused order by parent_id, child_id
