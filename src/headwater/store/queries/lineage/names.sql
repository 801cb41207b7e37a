-- name: canonical :many
-- Those of these datasets that are another name of a dataset.
select dataset_id, canonical_id from dataset_canonical where dataset_id = any(%(ids)b) and canonical_id <> dataset_id

-- name: members :many
-- Other names of these datasets.
select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b) and canonical_id <> dataset_id

-- name: aliases :many
-- Other names of these datasets, as they are written.
select c.canonical_id, d.namespace, d.name from dataset_canonical c join datasets d on d.id = c.dataset_id
where c.canonical_id = any(%(ids)b) and c.canonical_id <> c.dataset_id order by 1, 2, 3

-- name: page_after :many
-- Every dataset by the name it is kept under, a page at a time.
select id, namespace, name from datasets where id > %(after)s order by id limit %(limit)s

-- name: matching :many
-- Visible datasets whose `namespace:name` matches one of these regular expressions; by their canonical names.
select distinct coalesce(c.canonical_id, d.id) from datasets d left join dataset_canonical c on c.dataset_id = d.id
where not d.hidden and (d.namespace || ':' || d.name) ~ any(%(regexes)s::text[])
