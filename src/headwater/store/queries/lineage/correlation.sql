-- name: nodes :many
-- Nodes by their ids.
select id, kind, dataset_id, run_id, job_id, external_version, part, bytes, at, collided from correlation_items where id = any(%(ids)b::uuid[]) order by id

-- name: of_run :many
-- The nodes of a run, one for each job that had the run's id.
select id from correlation_items where run_id = %(run)s and kind = 'RUN' order by id

-- name: of_version :many
-- Contents with this version or fingerprint, of any dataset, and the items that are such a content: their readers read it, too.
select id from correlation_items where external_version = %(version)s and kind <> 'RUN' order by id

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
-- The descendants beyond the closure's bound: the walk goes on from the nodes exactly at the bound. Every way that long has a node there.
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
-- The ancestors beyond the closure's bound, in the same way.
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
-- Edges between these nodes, refused ones too. Joined: in a plan that is kept a list is searched from its beginning for every row.
select e.parent_id, e.child_id, e.weight, e.role, e.refused, e.at from unnest(%(ids)b::uuid[]) as p (id)
join correlation_edges e on e.parent_id = p.id join unnest(%(ids)b::uuid[]) as c (id) on c.id = e.child_id order by 1, 2

-- name: versions_of :many
-- The versions that these items and contents were written in, and whether each is all that the version has. A version with an item's own external
-- version is that item's alone; an item without such a one is in all versions that its run wrote of the dataset. Counted once for a run, not for each item.
with written as materialized (
  select i.id, i.dataset_id, i.external_version, w.id as writer, w.run_id, w.job_id
  from unnest(%(ids)b::uuid[]) as k (id) join correlation_items i on i.id = k.id
  join correlation_edges e on e.child_id = i.id and e.role = 2 and not e.refused
  join correlation_items w on w.id = e.parent_id and w.kind = 'RUN'
), alike as materialized (
  select i.id as item, v.id as version from written i
  join dataset_versions v on v.run_id = i.run_id and v.job_id = i.job_id and v.dataset_id = i.dataset_id and v.external_version = i.external_version
  where v.external_version <> ''
), several as materialized (
  select x.parent_id as writer, s.dataset_id, s.external_version, count(*) as alike, sum(count(*)) over (partition by x.parent_id, s.dataset_id) as altogether
  from (select distinct writer from written) r
  join correlation_edges x on x.parent_id = r.writer and x.role = 2 join correlation_items s on s.id = x.child_id
  group by 1, 2, 3
), pairs (item, version, own) as (
  select item, version, true from alike
  union all
  select i.id, v.id, false from written i
  join dataset_versions v on v.run_id = i.run_id and v.job_id = i.job_id and v.dataset_id = i.dataset_id
  where not exists (select from alike k where k.item = i.id) and not (v.external_version = '' and exists (
    select 1 from dataset_versions s where s.run_id = v.run_id and s.job_id = v.job_id and s.dataset_id = v.dataset_id and s.external_version <> ''))
)
select i.id, coalesce(n.altogether = 1 or p.own and n.alike = 1, true),
       v.id, coalesce(c.canonical_id, v.dataset_id), v.run_id, v.job_id, v.external_version, v.declared, v.first_at, v.written_at, v.lifecycle, v.rows, v.bytes, v.files
from written i join pairs p on p.item = i.id
join dataset_versions v on v.id = p.version and v.run_id = i.run_id and v.job_id = i.job_id
left join several n on n.writer = i.writer and n.dataset_id = i.dataset_id and n.external_version is not distinct from i.external_version
left join dataset_canonical c on c.dataset_id = v.dataset_id
order by i.id, v.written_at, v.id

-- name: written_in :many
-- The items and contents that were written in these versions: (version, item or content). As above.
with asked as materialized (
  select v.id, v.run_id, v.job_id, v.dataset_id from unnest(%(ids)b::uuid[]) as k (id) join dataset_versions v on v.id = k.id
), items as materialized (
  select i.id, i.external_version, a.run_id, a.job_id, a.dataset_id
  from (select distinct run_id, job_id, dataset_id from asked) a
  join correlation_items w on w.run_id = a.run_id and w.job_id = a.job_id and w.kind = 'RUN'
  join correlation_edges e on e.parent_id = w.id and e.role = 2 and not e.refused
  join correlation_items i on i.id = e.child_id and i.dataset_id = a.dataset_id
), alike as materialized (
  select i.id as item, v.id as version from items i
  join dataset_versions v on v.run_id = i.run_id and v.job_id = i.job_id and v.dataset_id = i.dataset_id and v.external_version = i.external_version
  where v.external_version <> ''
)
select a.id, k.item from asked a join alike k on k.version = a.id
union
select a.id, i.id from asked a join items i on i.run_id = a.run_id and i.job_id = a.job_id and i.dataset_id = a.dataset_id
where not exists (select from alike k where k.item = i.id)
order by 1, 2

-- name: lock :exec
-- One writer at a time looks after the closure; each sees what the one before it left. From here on nothing is cut short by its time: what an
-- edge between two large graphs adds is large, and a retry would not help.
select pg_advisory_xact_lock(1751474532, 8), set_config('statement_timeout', '0', true)

-- name: upsert_edges :many
-- Edges by the earliest event that reports them (the lower role, if one event reports two), written under the lock only; those that are new
-- or became earlier. A node that is its own parent is refused at once.
insert into correlation_edges as t (parent_id, child_id, weight, role, at, digest, refused)
select distinct on (parent_id, child_id) parent_id, child_id, case role when 3 then 0 else 1 end, role, at, digest, parent_id = child_id
from unnest(%(parent_id)b::uuid[], %(child_id)b::uuid[], %(role)b::int2[], %(at)b::timestamptz[], %(digest)b::bytea[]) as u (parent_id, child_id, role, at, digest)
order by parent_id, child_id, at, digest, role
on conflict (parent_id, child_id) do update set role = excluded.role, at = excluded.at, digest = excluded.digest
where (excluded.at, excluded.digest, excluded.role) < (t.at, t.digest, t.role)
returning parent_id, child_id, weight, role, at, digest, refused, xmax = 0

-- name: bridges :many
-- The closure's links from these children to these parents, however far: (from, to), where `from` is a child or what is at the
-- bound from one, or from such a node again, and `to` is a parent or the next such node. Few of both are asked pair by pair; else the ranges
-- above the parents are read, each once.
with recursive base (id) as (
  select c from unnest(%(children)b::uuid[]) as c where exists (select from correlation_paths p where p.ancestor_id = c)
  union
  select p.descendant_id from base b join correlation_paths p on p.ancestor_id = b.id and p.depth = %(bound)s
), above as materialized (
  select q as id from unnest(%(parents)b::uuid[]) as q where exists (select from correlation_paths p where p.descendant_id = q)
), few as materialized (
  select (select count(*) from base) * (select count(*) from above) <= 5000 as few
)
select b.id, p.descendant_id from base b cross join lateral (
  select descendant_id from correlation_paths where ancestor_id = b.id and depth = %(bound)s order by depth) p
union all
select b.id, a.id from base b cross join above a
where (select few from few) and exists (select from correlation_paths p where p.descendant_id = a.id and p.ancestor_id = b.id)
union all
select p.ancestor_id, a.id from above a cross join lateral (
  select ancestor_id from correlation_paths where descendant_id = a.id order by ancestor_id) p
where not (select few from few) and p.ancestor_id in (select id from base)

-- name: extend :many
-- Add edges to the closure, layer by layer; how many pairs were tried.
select extend_correlation(%(parents)b::uuid[], %(children)b::uuid[], %(weights)b::int2[], %(ends)b::int4[], %(bound)s)

-- name: tangle :many
-- Edges between nodes below any of these children and above any of these parents, refused ones too: every loop through an edge from one of the
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
-- Set which edges are refused.
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

-- name: by_item_or_run :many
-- The item or content with this id, and the runs that have it as their run id.
select id from correlation_items where id = %(id)s
union select id from correlation_items where run_id = %(id)s and kind = 'RUN' order by 1

-- name: newest_of_dataset :many
-- The node of a dataset's newest version that has an id or a version of its own: the item, else the content. Of the last 50 written.
with member as (
  select %(dataset)s::uuid as id union select dataset_id from dataset_canonical where canonical_id = %(dataset)s
), written as (
  select v.dataset_id, v.run_id, v.job_id, v.external_version, v.written_at, v.id from dataset_versions v
  where v.dataset_id in (select id from member) order by v.written_at desc, v.id limit 50
)
select i.id from written w join correlation_items i
  on i.run_id = w.run_id and i.job_id = w.job_id and i.dataset_id = w.dataset_id and i.kind = 'ITEM'
  or i.external_version = w.external_version and i.dataset_id = w.dataset_id and i.kind = 'CONTENT'
order by w.written_at desc, w.id, i.kind = 'ITEM' desc, i.at desc, i.id limit 1

-- name: how_many :one
-- The number of nodes above and below these.
select count(distinct id) from (
  select ancestor_id as id from correlation_paths where %(up)s and descendant_id = any(%(ids)b::uuid[]) and depth <= %(depth)s
  union all
  select descendant_id from correlation_paths where %(down)s and ancestor_id = any(%(ids)b::uuid[]) and depth <= %(depth)s) found
where not exists (select from unnest(%(ids)b::uuid[]) as k (known) where known = id)

-- name: writers :many
-- The runs that claim to have written these items: (item, run, job).
select e.child_id, r.run_id, r.job_id from correlation_edges e join correlation_items r on r.id = e.parent_id and r.kind = 'RUN'
where e.child_id = any(%(ids)b::uuid[]) and e.role = 2 order by e.child_id, e.at, e.parent_id

-- name: readers_of_content :many
-- Runs that ended well and read this content by itself or as an item that is it, of a job if one is named, the newest first. What two contents
-- claim to be is neither.
with content as (
  select id from correlation_items where external_version = %(version)s and kind = 'CONTENT'
), source as (
  select id from content
  union select e.parent_id from content c join correlation_edges e on e.child_id = c.id and e.role = 3
  join correlation_items i on i.id = e.parent_id and not i.collided
)
select r.run_id, r.job_id, r.state, r.ended_at, min(i.dataset_id::text)::uuid, r.first_event_at, r.last_event_at
from source s join correlation_items i on i.id = s.id
join correlation_edges e on e.parent_id = s.id and e.role = 1
join correlation_items n on n.id = e.child_id and n.kind = 'RUN'
join runs r on r.run_id = n.run_id and r.job_id = n.job_id and r.state = 3
join jobs j on j.id = r.job_id
where (%(namespace)s::text is null or j.namespace = %(namespace)s) and (%(name)s::text is null or j.name = %(name)s)
group by r.run_id, r.job_id, r.state, r.ended_at, r.first_event_at, r.last_event_at
order by r.ended_at desc nulls last, r.run_id, r.job_id limit %(limit)s
