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
