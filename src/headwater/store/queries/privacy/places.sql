-- name: datasets :many
-- Every dataset that is not hidden, by the name that stands for it.
select d.id, d.namespace || ':' || d.name from datasets d
where not d.hidden and not exists (select from dataset_canonical c where c.dataset_id = d.id and c.canonical_id <> d.id) order by 2
