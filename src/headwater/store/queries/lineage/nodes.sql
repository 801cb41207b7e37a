-- name: by_ids :many
-- Datasets and jobs by id; what is neither is absent.
select id, 'DATASET' as type, namespace, name, first_seen, last_seen, null::uuid as parent_id from datasets where id = any(%(ids)b)
union all
select id, 'JOB', namespace, name, first_seen, last_seen, parent_id from jobs where id = any(%(ids)b)

-- name: first_seen :one
-- The time at which a dataset was first reported, by any of its names.
select min(first_seen) from datasets where id = any(array(select n from names_of(%(id)s::uuid) n))

-- name: names :many
-- The names of these datasets, and then of these jobs, with their places in the two lists, one after the other.
select k.nr::int4 - 1, d.namespace, d.name from unnest(%(datasets)b::uuid[]) with ordinality as k (id, nr) join datasets d using (id)
union all
select k.nr::int4 - 1 + cardinality(%(datasets)b::uuid[]), j.namespace, j.name from unnest(%(jobs)b::uuid[]) with ordinality as k (id, nr) join jobs j using (id)

-- name: datasets_page :many
-- Datasets, the latest reported first.
select id, 'DATASET', namespace, name, first_seen, last_seen, null::uuid from datasets
where not hidden and (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)
  and (%(query)s::text is null or id in (select s.id from search_documents s where s.words @@ %(query)s::tsquery))
  and not exists (select 1 from dataset_canonical c where c.dataset_id = id and c.canonical_id <> id)
order by last_seen desc, namespace, name limit %(limit)s offset %(offset)s

-- name: datasets_page_sorted :many
-- Datasets in another order: by name, or the one reported longest ago first.
select id, 'DATASET', namespace, name, first_seen, last_seen, null::uuid from datasets
where not hidden and (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)
  and (%(query)s::text is null or id in (select s.id from search_documents s where s.words @@ %(query)s::tsquery))
  and not exists (select 1 from dataset_canonical c where c.dataset_id = id and c.canonical_id <> id)
order by case when %(sort)s = 'name' and not %(down)s then name end, case when %(sort)s = 'name' then name end desc,
         case when %(sort)s = 'updated' and not %(down)s then last_seen end, last_seen desc, namespace, name limit %(limit)s offset %(offset)s

-- name: datasets_count :one
-- The number of datasets, each once: all names less those that another stands for. An anti-join would hash every dataset: seven times as long.
select
  (select count(*) from datasets
   where not hidden and (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)
     and (%(query)s::text is null or id in (select s.id from search_documents s where s.words @@ %(query)s::tsquery)))
  - (select count(*) from dataset_canonical c join datasets on id = c.dataset_id
     where c.canonical_id <> c.dataset_id and not hidden and (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)
       and (%(query)s::text is null or id in (select s.id from search_documents s where s.words @@ %(query)s::tsquery)))

-- name: jobs_page :many
-- Jobs, the latest reported first. A name that does not end in a digit is not held against the pattern: that takes ten times as long.
select id, 'JOB', namespace, name, first_seen, last_seen, parent_id from jobs
where not hidden and (not %(top)s or parent_id is null) and (%(parent)s::uuid is null or parent_id = %(parent)s)
  and (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)
  and (%(statements)s::text is null or parent_id is null or ascii(right(name, 1)) not between 48 and 57 or name !~ %(statements)s)
  and (%(query)s::text is null or id in (select s.id from search_documents s where s.words @@ %(query)s::tsquery))
order by last_seen desc, namespace, name limit %(limit)s offset %(offset)s

-- name: jobs_page_sorted :many
-- Jobs in another order: by name, or the one reported longest ago first.
select id, 'JOB', namespace, name, first_seen, last_seen, parent_id from jobs
where not hidden and (not %(top)s or parent_id is null) and (%(parent)s::uuid is null or parent_id = %(parent)s)
  and (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)
  and (%(statements)s::text is null or parent_id is null or ascii(right(name, 1)) not between 48 and 57 or name !~ %(statements)s)
  and (%(query)s::text is null or id in (select s.id from search_documents s where s.words @@ %(query)s::tsquery))
order by case when %(sort)s = 'name' and not %(down)s then name end, case when %(sort)s = 'name' then name end desc,
         case when %(sort)s = 'updated' and not %(down)s then last_seen end, last_seen desc, namespace, name limit %(limit)s offset %(offset)s

-- name: jobs_count :one
-- The number of jobs.
select count(*) from jobs
where not hidden and (not %(top)s or parent_id is null) and (%(parent)s::uuid is null or parent_id = %(parent)s)
  and (%(namespace)s::text is null or namespace = %(namespace)s) and (%(pattern)s::text is null or name ilike %(pattern)s)
  and (%(statements)s::text is null or parent_id is null or ascii(right(name, 1)) not between 48 and 57 or name !~ %(statements)s)
  and (%(query)s::text is null or id in (select s.id from search_documents s where s.words @@ %(query)s::tsquery))

-- name: child_counts :many
-- The number of jobs directly below each of these jobs.
select parent_id, count(*) from jobs where parent_id = any(%(ids)b::uuid[]) and not hidden group by parent_id

-- name: counts :one
-- The number of datasets (each once, under all its names), jobs and runs.
select (select count(*) from datasets) - (select count(*) from dataset_canonical where canonical_id <> dataset_id), (select count(*) from jobs), (select count(*) from runs)

-- name: namespaces :many
-- Every namespace of a dataset or a job.
select name, first_seen from namespaces order by name limit %(limit)s offset %(offset)s

-- name: ending_with :many
-- Datasets (as the one that stands for all names) and jobs, and the name by which: one that ends as the pattern says, reversed, or is one of `whole`.
with told as (
  select id, namespace, name from datasets where reverse(right(name, 200)) like %(pattern)s
  union select d.id, d.namespace, d.name from unnest(%(whole)b::text[]) w (name) join datasets d on reverse(right(d.name, 200)) = reverse(right(w.name, 200)) and d.name = w.name
), taken as (
  (select d.id, 'DATASET' as type, d.namespace, d.name, t.namespace as told_namespace, t.name as told_name
   from told t left join dataset_canonical c on c.dataset_id = t.id join datasets d on d.id = coalesce(c.canonical_id, t.id) where not d.hidden)
  union all
  (select id, 'JOB', namespace, name, namespace, name from jobs where not hidden and reverse(right(name, 200)) like %(pattern)s)
  union
  (select j.id, 'JOB', j.namespace, j.name, j.namespace, j.name from unnest(%(whole)b::text[]) w (name)
   join jobs j on reverse(right(j.name, 200)) = reverse(right(w.name, 200)) and j.name = w.name where not j.hidden)
)
select * from taken
order by (told_name = %(name)s or lower(type) || ':' || told_namespace || ':' || told_name = %(name)s) desc, type, namespace, name, told_namespace, told_name limit 200

-- name: in_schema :many
-- Datasets (as the one that stands for all names) of which a name is, or ends with, the schema's and one part more. At most 2,001.
select distinct on (d.id) d.id, 'DATASET', d.namespace, d.name, d.first_seen, d.last_seen, null::uuid, regexp_replace(t.name, '^.*\.', '')
from datasets t left join dataset_canonical c on c.dataset_id = t.id join datasets d on d.id = coalesce(c.canonical_id, t.id)
where not d.hidden and t.name ilike '%%' || %(schema)s || '.%%' and t.name !~ '/'
  and (regexp_replace(t.name, '\.[^.]*$', '') ilike %(schema)s or regexp_replace(t.name, '\.[^.]*$', '') ilike '%%.' || %(schema)s)
order by d.id, t.name limit 2001

-- name: near_misses :many
-- Datasets only read beside datasets only written whose last segment is the same without case.
with use as (
  select d.id, d.namespace, d.name, lower(regexp_replace(d.name, '^.*[/.]', '')) as short,
         bool_or(e.direction = 'in') as is_read, bool_or(e.direction = 'out') as is_written
  from edges e left join dataset_canonical c on c.dataset_id = e.dataset_id join datasets d on d.id = coalesce(c.canonical_id, e.dataset_id)
  group by d.id, d.namespace, d.name
)
select 'dataset:' || r.namespace || ':' || r.name, 'dataset:' || w.namespace || ':' || w.name
from use r join use w on w.short = r.short and w.id <> r.id
where r.is_read and not r.is_written and w.is_written and not w.is_read and length(r.short) > 2
order by 1, 2 limit 50

-- name: existing_namespaces :many
-- Those of these namespaces that exist, and whether they are hidden.
select name, hidden from namespaces where name = any(%(names)b::text[])

-- name: of_namespace :many
-- Datasets and jobs of a namespace, hidden or not.
select id, 'DATASET', namespace, name, first_seen, last_seen, null::uuid from datasets where namespace = %(namespace)s and hidden = %(hidden)s
union all
select id, 'JOB', namespace, name, first_seen, last_seen, parent_id from jobs where namespace = %(namespace)s and hidden = %(hidden)s
order by 2, 4
