-- name: kinds :many
-- Each body of a `datasetType` facet.
select id, body from facet_bodies where id in (select distinct body_id from facet_sets where name = 'datasetType' and not deleted)

-- name: of_kinds :many
-- Datasets that ever had one of these `datasetType` facets.
select d.id, 'DATASET', d.namespace, d.name, d.first_seen, d.last_seen, null::uuid from datasets d
where not d.hidden and d.id in (
  select o.owner from owner_facets o join facet_sets s on s.id = o.set_id and s.name = 'datasetType' where s.body_id = any(%(bodies)b::uuid[])
)
order by d.last_seen desc, d.namespace, d.name
