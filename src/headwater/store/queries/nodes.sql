-- name: by_ids :many
-- Datasets and jobs by id; what is neither is absent.
select id, 'DATASET' as type, namespace, name, first_seen, last_seen, null::uuid as parent_id from datasets where id = any(%(ids)b)
union all
select id, 'JOB', namespace, name, first_seen, last_seen, parent_id from jobs where id = any(%(ids)b)

-- name: datasets_page :many
-- Datasets, the latest spoken of first.
select id, 'DATASET', namespace, name, first_seen, last_seen, null::uuid from datasets
where (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)
order by last_seen desc, namespace, name limit %(limit)s offset %(offset)s

-- name: datasets_count :one
-- How many datasets there are.
select count(*) from datasets where (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)

-- name: jobs_page :many
-- Jobs, the latest spoken of first.
select id, 'JOB', namespace, name, first_seen, last_seen, parent_id from jobs
where (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)
order by last_seen desc, namespace, name limit %(limit)s offset %(offset)s

-- name: jobs_count :one
-- How many jobs there are.
select count(*) from jobs where (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)

-- name: namespaces :many
-- Every namespace of a dataset or a job.
select namespace, min(first_seen), max(last_seen) from (
  select namespace, first_seen, last_seen from datasets union all select namespace, first_seen, last_seen from jobs) n
group by namespace order by namespace limit %(limit)s offset %(offset)s

-- name: counts :one
-- How many datasets, jobs and runs there are.
select (select count(*) from datasets), (select count(*) from jobs), (select count(*) from runs)

-- name: search :many
-- Datasets and jobs whose name, column or description has the words; names first, shorter names first.
with hit as (
  select id, 'DATASET' as type, namespace, name, 'name' as matched, null::text as detail, 1 as place from datasets where name ilike %(pattern)s or namespace ilike %(pattern)s
  union all
  select id, 'JOB', namespace, name, 'name', null, 1 from jobs where name ilike %(pattern)s or namespace ilike %(pattern)s
  union all
  select d.id, 'DATASET', d.namespace, d.name, 'column', min(s.name), 2
  from schema_fields s join facets f on f.body_id = s.body_id and f.name = 'schema' join datasets d on d.id = f.owner
  where s.name ilike %(pattern)s group by d.id
  union all
  select n.id, n.type, n.namespace, n.name, 'description', null, 3
  from facets f join facet_bodies b on b.id = f.body_id
  join (select id, 'DATASET' as type, namespace, name from datasets union all select id, 'JOB', namespace, name from jobs) n on n.id = f.owner
  where f.name = 'documentation' and not f.deleted and convert_from(b.body, 'UTF8') ilike %(pattern)s
), best as (
  select distinct on (id) * from hit where %(type)s::text is null or type = %(type)s order by id, place
)
select id, type, namespace, name, matched, detail, count(*) over () from best
order by place, lower(name) not like lower(%(ending)s), length(name), namespace, name limit %(limit)s

-- name: ending_with :many
-- Datasets and jobs whose name, or namespace and name, ends with the words.
select id, 'DATASET' as type, namespace, name from datasets where name = %(name)s or name like %(pattern)s or (namespace || ':' || name) like %(pattern)s or 'dataset:' || namespace || ':' || name = %(name)s
union all
select id, 'JOB', namespace, name from jobs where name = %(name)s or name like %(pattern)s or (namespace || ':' || name) like %(pattern)s or 'job:' || namespace || ':' || name = %(name)s
order by 2, 3, 4 limit 200

-- name: nearest :many
-- Datasets and jobs with the most similar names.
select id, type, namespace, name from (
  select id, 'DATASET' as type, namespace, name from datasets union all select id, 'JOB', namespace, name from jobs) n
order by greatest(word_similarity(%(name)s, name), similarity(%(name)s, regexp_replace(name, '^.*[/.]', ''))) desc, name limit %(limit)s

-- name: near_misses :many
-- Datasets only read beside datasets only written whose last segment is the same, whatever its case.
with use as (
  select d.id, d.namespace, d.name, lower(regexp_replace(d.name, '^.*[/.]', '')) as short,
         bool_or(e.direction = 'in') as is_read, bool_or(e.direction = 'out') as is_written
  from datasets d join edges e on e.dataset_id = d.id group by d.id
)
select 'dataset:' || r.namespace || ':' || r.name, 'dataset:' || w.namespace || ':' || w.name
from use r join use w on w.short = r.short and w.id <> r.id
where r.is_read and not r.is_written and w.is_written and not w.is_read and length(r.short) > 2
order by 1, 2 limit 50
