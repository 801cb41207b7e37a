-- name: of_owners :many
-- Facets of these datasets (under any of their names) and jobs at a time, all or by name: the latest of each name, tombstones too.
select node, name, at, body_id, body from facets_of(%(owners)b::uuid[], %(names)b::text[], %(as_of)s::timestamptz)

-- name: bodies_of :many
-- Every body that a facet of these datasets (under any of their names) and jobs had until a time, but for tombstones.
with member as (
  select i as node, i as id from unnest(%(owners)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(owners)b)
)
select distinct m.node, b.body from member m join owner_facets o on o.owner = m.id
join facet_sets s on s.id = o.set_id and s.name = %(name)s and not s.deleted join facet_bodies b on b.id = s.body_id
where o.first_at <= %(as_of)s::timestamptz

-- name: history :many
-- Every body a facet of this dataset or job ever had, with the span in which it was reported, the latest first. A schema that a reader guessed is
-- none of them if a better observation gave one.
with member as (
  select %(owner)b::uuid as id union select dataset_id from dataset_canonical where canonical_id = %(owner)b::uuid
), found as (
  select s.name, s.body_id, s.deleted, o.first_at, o.last_at, s.guess, min(s.guess) over (partition by s.name) as best
  from member m join owner_facets o on o.owner = m.id join facet_sets s on s.id = o.set_id
  where %(name)s::text is null or s.name = %(name)s
)
select s.name, s.body_id, min(s.first_at), max(s.last_at), bool_and(s.deleted), min(b.body)
from found s join facet_bodies b on b.id = s.body_id
where s.guess = s.best
group by s.name, s.body_id order by s.name, max(s.last_at) desc, min(s.first_at) desc limit %(limit)s

-- name: bodies :many
-- Bodies by id.
select id, body from facet_bodies where id = any(%(ids)b)

-- name: of_name :many
-- Every body that this facet had at datasets up to a time, with the dataset by the name that stands for it, its own name, and whether it is the last.
with found as (
  select o.owner, s.body_id, bool_and(s.deleted) as deleted, max(o.last_at) as last_at
  from facet_sets s join owner_facets o on o.set_id = s.id
  where s.name = %(name)s and o.first_at <= %(as_of)s::timestamptz
  group by o.owner, s.body_id
), ranked as (
  select *, row_number() over (partition by owner order by last_at desc, body_id) as place from found
)
select coalesce(c.canonical_id, d.id), d.namespace, d.name, r.place = 1, b.body
from ranked r join datasets d on d.id = r.owner left join dataset_canonical c on c.dataset_id = d.id join facet_bodies b on b.id = r.body_id
where not r.deleted
