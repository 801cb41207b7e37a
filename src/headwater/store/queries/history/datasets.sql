-- name: versions :many
-- Versions of a dataset under any of its names, the latest first; one that is only declared yields to what a child of its run was seen writing.
with member as (
  select %(dataset_id)s::uuid as id union select dataset_id from dataset_canonical where canonical_id = %(dataset_id)s
)
select v.id, v.run_id, v.job_id, v.external_version, v.declared, v.first_at, v.written_at, coalesce(r.state, 3), v.dataset_id, v.schema_id, v.lifecycle, v.rows, v.bytes, v.files
from member m join dataset_versions v on v.dataset_id = m.id
left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
where v.first_at <= %(as_of)s
  and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = any(array(select n from names_of(v.dataset_id) n)) and c.parent_run_id = v.run_id))
order by v.written_at desc, v.id limit %(limit)s offset %(offset)s

-- name: version :many
-- One version by id.
select v.id, v.run_id, v.job_id, v.external_version, v.declared, v.first_at, v.written_at, coalesce(r.state, 3), v.dataset_id, v.schema_id, v.lifecycle, v.rows, v.bytes, v.files
from dataset_versions v left join runs r on r.run_id = v.run_id and r.job_id = v.job_id where v.id = %(id)s

-- name: version_counts :many
-- The number of versions of each of these datasets.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
)
select m.node, count(*) from member m join dataset_versions v on v.dataset_id = m.id
where v.first_at <= %(as_of)s
  and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = any(array(select n from names_of(v.dataset_id) n)) and c.parent_run_id = v.run_id))
group by m.node

-- name: schema_as_of :many
-- Body of the schema each of these datasets had at a time: that of the latest version written by then.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
), latest as (
  select distinct on (m.node) m.node, v.schema_id from member m join dataset_versions v on v.dataset_id = m.id
  where v.schema_id is not null and v.first_at <= %(as_of)s order by m.node, v.written_at desc, v.id
)
select l.node, b.body from latest l join facet_bodies b on b.id = l.schema_id
