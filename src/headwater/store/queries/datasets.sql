-- name: versions :many
-- Versions of a dataset, the latest first; one that is only declared yields to what a child of its run was seen writing.
select v.id, v.run_id, v.job_id, v.external_version, v.declared, v.first_at, v.written_at, coalesce(r.state, 3) from dataset_versions v
left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
where v.dataset_id = %(dataset_id)s and v.first_at <= %(as_of)s
  and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = v.dataset_id and c.parent_run_id = v.run_id))
order by v.written_at desc, v.id limit %(limit)s

-- name: version_counts :many
-- How many versions each of these datasets has.
select dataset_id, count(*) from dataset_versions v where dataset_id = any(%(ids)b) and first_at <= %(as_of)s
  and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = v.dataset_id and c.parent_run_id = v.run_id))
group by dataset_id

-- name: schema_as_of :many
-- Body of the schema each of these datasets had at a time: that of the latest version written by then.
select x.* from unnest(%(ids)b::uuid[]) as d (id) cross join lateral (
  select v.dataset_id, b.body from dataset_versions v
  join facets f on f.owner = v.id and f.name = 'schema' and not f.deleted join facet_bodies b on b.id = f.body_id
  where v.dataset_id = d.id and v.first_at <= %(as_of)s order by v.written_at desc, v.id limit 1) x
