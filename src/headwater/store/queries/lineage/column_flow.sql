-- name: written_from :many
-- Jobs that read these datasets (under any of their names) since a time, and what they have written since: job, reported name, canonical name.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
), reader as (
  select distinct m.node, e.job_id from member m join edges e on e.dataset_id = m.id and e.direction = 'in'
  where e.manual or coalesce(greatest(e.last_at, e.declared_at), e.first_at) >= %(since)s
)
select r.node, r.job_id, o.dataset_id, coalesce(c.canonical_id, o.dataset_id)
from reader r join edges o on o.job_id = r.job_id and o.direction = 'out'
left join dataset_canonical c on c.dataset_id = o.dataset_id
where o.manual or coalesce(greatest(o.last_at, o.declared_at), o.first_at) >= %(since)s

-- name: ways :many
-- The ways in which these jobs have written these datasets since a time, each once: the sets of column evidence of highest precedence (null where there were
-- none), the reported schema, and whether it counts: not of failed runs (checkpoints of streams do), nor of runs that report no columns of what a child run was seen to write.
with written as (
  select distinct v.job_id, v.dataset_id, v.schema_id, told.sets,
    (coalesce(r.state, 3) not in (4, 5) or v.checkpoint) and (told.sets is not null or not exists (
      select 1 from runs child join dataset_versions s on s.run_id = child.run_id and s.job_id = child.job_id
      where child.parent_run_id = v.run_id and s.dataset_id = any(array(select n from names_of(v.dataset_id) n)))) as counts
  from unnest(%(jobs)b::uuid[], %(targets)b::uuid[]) as p (job_id, dataset_id)
  join dataset_versions v on v.dataset_id = p.dataset_id and v.job_id = p.job_id and v.written_at >= %(since)s
  left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
  left join lateral (
    select array_agg(c.set_id order by c.set_id) as sets from stated_columns c
    where c.job_id = v.job_id and c.report_id = v.run_id and c.target_id = v.dataset_id
      and c.origin = (select min(b.origin) from stated_columns b where b.job_id = v.job_id and b.report_id = v.run_id and b.target_id = v.dataset_id)
  ) told on true
)
select w.job_id, w.dataset_id, w.sets, b.body, w.counts from written w left join facet_bodies b on b.id = w.schema_id

-- name: columns :many
-- The schemas that these datasets (under any of their names) have had.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
)
select distinct on (m.node, v.schema_id) m.node, b.body
from member m join dataset_versions v on v.dataset_id = m.id join facet_bodies b on b.id = v.schema_id

-- name: sets_of :many
-- The column evidence of what was written to these datasets (under any of their names), and of what jobs wrote that read them: (dataset, set, whether of
-- the dataset itself).
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
)
select m.node, c.set_id, true from member m join stated_columns c on c.target_id = m.id
union
select m.node, c.set_id, false from member m join edges e on e.dataset_id = m.id and e.direction = 'in' join stated_columns c on c.job_id = e.job_id
