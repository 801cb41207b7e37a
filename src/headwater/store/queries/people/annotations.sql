-- name: of_owners :many
-- People's annotations of these datasets (under any of their names) and jobs: the latest of each kind, key and column.
with member as (
  select i as node, i as id from unnest(%(owners)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(owners)b)
)
select distinct on (m.node, a.field, a.kind, a.key) m.node, a.target, a.field, a.kind, a.key, a.value::text, a.deleted, a.author, a.at
from member m join annotations a on a.owner = m.id
order by m.node, a.field, a.kind, a.key, a.at desc, a.change_id desc

-- name: of_targets :many
-- People's annotations of these targets, as they are written.
select target, target, field, kind, key, value::text, deleted, author, at from annotations
where target = any(%(targets)b) order by target, kind, key

-- name: of_kind :many
-- People's annotations of one kind, on any target.
select target, target, field, kind, key, value::text, deleted, author, at from annotations
where kind = %(kind)s and not deleted order by target, key limit %(limit)s offset %(offset)s

-- name: of_things :many
-- People's annotations of targets that are neither dataset nor job, by the beginning of the node id.
select target, target, field, kind, key, value::text, deleted, author, at from annotations
where owner is null and not deleted and starts_with(target, %(prefix)s) order by target, kind, key

-- name: datasets_with_tags :many
-- Datasets, by their canonical names, that events or people gave a tag, or a column of theirs.
select distinct coalesce(c.canonical_id, d.id) from (
  select o.owner as id from owner_facets o join facet_sets s on s.id = o.set_id where s.name = 'tags'
  union select owner from annotations where kind = 'tag' and owner is not null) t
join datasets d on d.id = t.id left join dataset_canonical c on c.dataset_id = d.id

-- name: tag_names :many
-- Tags that people put on something.
select distinct value->>'name' from annotations where kind = 'tag' and not deleted order by 1

-- name: lock_datasets :exec
-- A writer about a dataset waits for other writers about it: what follows from both is made by the second.
select from datasets where id = any(%(ids)b::uuid[]) order by id for update

-- name: lock_jobs :exec
-- Jobs likewise.
select from jobs where id = any(%(ids)b::uuid[]) order by id for update

-- name: settle_hidden_datasets :many
-- Hide or show datasets by people's last change; return those that changed.
update datasets d set hidden = not a.deleted from annotations a
where a.owner = d.id and a.kind = 'hidden' and a.field = '' and d.hidden = a.deleted and (%(owners)b::uuid[] is null or a.owner = any(%(owners)b))
returning d.id

-- name: settle_hidden_jobs :many
-- Hide or show jobs by people's last change; return those that changed.
update jobs j set hidden = not a.deleted from annotations a
where a.owner = j.id and a.kind = 'hidden' and j.hidden = a.deleted and (%(owners)b::uuid[] is null or a.owner = any(%(owners)b))
returning j.id

-- name: settle_hidden_namespaces :many
-- Hide or show namespaces by people's last change; return those that changed.
update namespaces n set hidden = not a.deleted from annotations a
where a.target = 'namespace:' || n.name and a.kind = 'hidden' and n.hidden = a.deleted and (%(targets)b::text[] is null or a.target = any(%(targets)b))
returning n.name

-- name: settle_edges :exec
-- Edges that people drew last, and not those they removed last.
update edges e set manual = l.drawn from (
  select distinct on (job_id, dataset_id, direction) job_id, dataset_id, direction, drawn from edge_changes
  where %(jobs)b::uuid[] is null or job_id = any(%(jobs)b)
  order by job_id, dataset_id, direction, at desc, change_id desc) l
where e.dataset_id = l.dataset_id and e.job_id = l.job_id and e.direction = l.direction and e.manual <> l.drawn

-- name: unlink :many
-- Links that people took back; both ends.
delete from dataset_links l using annotations a
where a.kind = 'alias' and a.deleted and l.kind = 'manual' and l.dataset_id = a.owner and l.alias_id = (a.value->>'id')::uuid
  and (%(owners)b::uuid[] is null or a.owner = any(%(owners)b))
returning l.dataset_id, l.alias_id

-- name: link :many
-- Links that people made; both ends.
insert into dataset_links as t (dataset_id, alias_id, kind, first_at)
select a.owner, (a.value->>'id')::uuid, 'manual', a.at from annotations a
where a.kind = 'alias' and not a.deleted and a.owner <> (a.value->>'id')::uuid and (%(owners)b::uuid[] is null or a.owner = any(%(owners)b))
on conflict (dataset_id, alias_id, kind) do update set first_at = excluded.first_at where excluded.first_at <> t.first_at
returning dataset_id, alias_id

-- name: forget_names :many
-- Remove the groups of names that these datasets are in; return all members that are still linked.
with ended as (
  delete from dataset_canonical where canonical_id in (
    select coalesce(c.canonical_id, i) from unnest(%(ids)b::uuid[]) i left join dataset_canonical c on c.dataset_id = i)
  returning dataset_id
), members as (select dataset_id as id from ended union select i from unnest(%(ids)b::uuid[]) i)
select id, exists (select 1 from dataset_links where dataset_id = id or alias_id = id) from members order by 1
