-- name: of_owners :many
-- Current facets of these owners, all or by name.
select f.owner, f.name, f.at, b.body from facets f join facet_bodies b on b.id = f.body_id
where f.owner = any(%(owners)b) and not f.deleted and (%(names)b::text[] is null or f.name = any(%(names)b))
order by f.owner, f.name
