-- name: datasets_resolved :many
-- The datasets that these ids stand for, by the id asked for.
select u.id, d.id, d.namespace, d.name, d.first_seen, d.last_seen, d.hidden
from unnest(%(ids)b::uuid[]) as u (id)
left join dataset_canonical c on c.dataset_id = u.id
join datasets d on d.id = coalesce(c.canonical_id, u.id)

-- name: datasets_page :many
-- Datasets of a namespace by name, each once, under the name that stands for it.
select id, namespace, name, first_seen, last_seen, hidden from datasets d
where namespace = %(namespace)s and not hidden and not exists (select 1 from dataset_canonical c where c.dataset_id = d.id and c.canonical_id <> d.id)
order by name limit %(limit)s offset %(offset)s

-- name: datasets_count :one
-- The number of datasets in a namespace.
select count(*) from datasets d
where namespace = %(namespace)s and not hidden and not exists (select 1 from dataset_canonical c where c.dataset_id = d.id and c.canonical_id <> d.id)

-- name: current_versions :many
-- The latest version of each of these datasets as of a time; one that is only declared yields to what a child of its run was seen writing.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
)
select distinct on (m.node) m.node, v.id, v.written_at, v.lifecycle, v.run_id is not null
from member m cross join lateral (
  select v.id, v.written_at, v.lifecycle, v.run_id from dataset_versions v
  where v.dataset_id = m.id and v.first_at <= %(as_of)s
    and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = any(array(select n from names_of(v.dataset_id) n)) and c.parent_run_id = v.run_id))
  order by v.written_at desc, v.id limit 1) v
order by m.node, v.written_at desc, v.id

-- name: version_count :one
-- The number of versions of a dataset under any of its names.
with member as (
  select %(dataset_id)s::uuid as id union select dataset_id from dataset_canonical where canonical_id = %(dataset_id)s
)
select count(*) from member m join dataset_versions v on v.dataset_id = m.id
where not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = any(array(select n from names_of(v.dataset_id) n)) and c.parent_run_id = v.run_id))

-- name: facet_history :many
-- Every body these owners' facets ever had, with the span in which each was reported; for a dataset under any of its names.
with member as (
  select i as node, i as id from unnest(%(owners)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(owners)b)
)
select s.node, s.name, s.first_at, s.last_at, s.deleted, b.body from (
  select m.node, s.name, o.first_at, o.last_at, s.deleted, s.body_id, s.guess, min(s.guess) over (partition by m.node, s.name) as best
  from member m join owner_facets o on o.owner = m.id join facet_sets s on s.id = o.set_id
  where %(names)b::text[] is null or s.name = any(%(names)b)) s
join facet_bodies b on b.id = s.body_id
where s.guess = s.best
order by s.node, s.name, s.last_at, s.body_id

-- name: jobs_by_ids :many
-- Jobs by id, with the name of the job above.
select j.id, j.namespace, j.name, j.first_seen, j.last_seen, j.parent_id, p.name, j.hidden
from jobs j left join jobs p on p.id = j.parent_id where j.id = any(%(ids)b)

-- name: jobs_named :many
-- Jobs with one of these names in one of these namespaces, with the name of the job above.
select j.id, j.namespace, j.name, j.first_seen, j.last_seen, j.parent_id, p.name, j.hidden
from unnest(%(namespaces)b::text[], %(names)b::text[]) as u (namespace, name)
join jobs j on j.namespace = u.namespace and j.name = u.name left join jobs p on p.id = j.parent_id

-- name: jobs_page :many
-- Jobs, the latest reported first; those whose latest run is in one of the states, where states are given.
select j.id, j.namespace, j.name, j.first_seen, j.last_seen, j.parent_id, p.name, j.hidden from (
  select * from jobs
  where not hidden and (%(namespace)s::text is null or namespace = %(namespace)s)
    and (%(states)b::int2[] is null or (select r.state from runs r where r.job_id = jobs.id order by r.first_event_at desc, r.run_id limit 1) = any(%(states)b))
  order by last_seen desc, namespace, name limit %(limit)s offset %(offset)s) j
left join jobs p on p.id = j.parent_id
order by j.last_seen desc, j.namespace, j.name

-- name: jobs_count :one
-- The number of jobs; those whose latest run is in one of the states, where states are given.
select count(*) from jobs
where not hidden and (%(namespace)s::text is null or namespace = %(namespace)s)
  and (%(states)b::int2[] is null or (select r.state from runs r where r.job_id = jobs.id order by r.first_event_at desc, r.run_id limit 1) = any(%(states)b))

-- name: families :many
-- The families of these jobs: the topmost job above each, and every job below that one. The paths guard against jobs that are each other's parents.
with recursive up (id, top, path) as (
  select j.id, j.id, array[j.id] from jobs j where j.id = any(%(ids)b)
  union all
  select u.id, p.id, u.path || p.id from up u join jobs j on j.id = u.top join jobs p on p.id = j.parent_id
  where not p.id = any(u.path) and cardinality(u.path) < 32
), roots as (
  select distinct on (id) id, top from up order by id, cardinality(path) desc
), down (top, id, depth) as (
  select distinct top, top, 0 from roots
  union
  select d.top, j.id, d.depth + 1 from down d join jobs j on j.parent_id = d.id where d.depth < 32
)
select distinct id, top from down union select id, top from roots

-- name: edges_of_jobs :many
-- The datasets that these jobs read and write now.
select distinct coalesce(c.canonical_id, e.dataset_id), e.job_id, e.direction
from live_edges e left join dataset_canonical c on c.dataset_id = e.dataset_id where e.job_id = any(%(ids)b)

-- name: jobs_at_datasets :many
-- Jobs that read or write these datasets now, under any of their names.
with member as (
  select i as id from unnest(%(ids)b::uuid[]) i
  union select dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
)
select distinct e.job_id from live_edges e where e.dataset_id = any(array(select id from member))

-- name: last_reports :many
-- The datasets that each of these jobs reads and writes by its latest report.
select j.id, l.at, coalesce(c.canonical_id, d.dataset_id), d.direction
from unnest(%(ids)b::uuid[]) as j (id) cross join lateral (
  select s.report_id, coalesce(u.last_event_at, s.first_at) as at from reports s
  left join runs u on u.run_id = s.report_id and u.job_id = s.job_id
  where s.job_id = j.id order by s.first_at desc, s.report_id limit 1) l
left join stated_datasets d on d.job_id = j.id and d.report_id = l.report_id
left join dataset_canonical c on c.dataset_id = d.dataset_id

-- name: job_versions :many
-- Every combination of inputs, outputs and code location a job was reported with: when first and last, and the last run with it.
with place as materialized (
  select b.body, o.first_at, o.last_at from owner_facets o
  join facet_sets s on s.id = o.set_id and s.name = 'sourceCodeLocation' join facet_bodies b on b.id = s.body_id
  where o.owner = %(job_id)s
), report as (
  select s.report_id, s.first_at, coalesce(u.last_event_at, s.first_at) as at, u.run_id from reports s
  left join runs u on u.run_id = s.report_id and u.job_id = s.job_id where s.job_id = %(job_id)s
  union all
  select u.run_id, u.first_event_at, u.last_event_at, u.run_id from runs u
  where u.job_id = %(job_id)s and u.state >= 3
    and not exists (select 1 from reports s where s.job_id = u.job_id and s.report_id = u.run_id)
), told as (
  select r.report_id, r.first_at, r.at, r.run_id,
         array_agg(distinct coalesce(c.canonical_id, d.dataset_id)) filter (where d.direction = 'in') as inputs,
         array_agg(distinct coalesce(c.canonical_id, d.dataset_id)) filter (where d.direction = 'out') as outputs
  from report r left join stated_datasets d on d.job_id = %(job_id)s and d.report_id = r.report_id
  left join dataset_canonical c on c.dataset_id = d.dataset_id
  group by r.report_id, r.first_at, r.at, r.run_id
), located as (
  select t.*, (select p.body from place p where p.first_at <= t.at order by least(p.last_at, t.at) desc, p.last_at desc, p.body desc limit 1) as location from told t
)
select inputs, outputs, location, min(first_at), max(first_at), (array_agg(run_id order by first_at desc) filter (where run_id is not null))[1]
from located group by inputs, outputs, location order by min(first_at) desc, inputs, outputs, location

-- name: namespaces :many
-- Every namespace of a dataset or a job, and `default`, which is always there.
select name, min(first_seen), coalesce(bool_and(hidden), false) from (
  select name, first_seen, hidden from namespaces
  union all select 'default', (select min(applied_at) from migrations), false where not exists (select 1 from namespaces where name = 'default')
  union all select unnest(%(said)b::text[]), null::timestamptz, null) n
where %(names)b::text[] is null or name = any(%(names)b)
group by name order by name limit %(limit)s offset %(offset)s

-- name: sources :many
-- Data sources with their latest address; `default` stands for datasets that name none.
select name, min(first_seen), (array_agg(url order by first_seen desc, url))[1] from (
  select name, url, first_seen from sources
  union all select * from (select 'default', '', min(first_seen) from datasets) d (name, url, first_seen) where first_seen is not null
  union all select unnest(%(said)b::text[]), '', null::timestamptz) s
where %(names)b::text[] is null or name = any(%(names)b)
group by name order by name limit %(limit)s offset %(offset)s

-- name: tag_facets :many
-- Every tags facet that datasets or jobs carry or carried.
select distinct on (s.body_id) b.body from facet_sets s join facet_bodies b on b.id = s.body_id where s.name = 'tags' and not s.deleted

-- name: search :many
-- Datasets and jobs whose name has the words, with how many there are; jobs also under the name that begins with their parent's.
select type, id, namespace, name, last_seen, count(*) over () from (
  select 'DATASET' as type, d.id, d.namespace, d.name, d.last_seen from datasets d
  where %(type)s::text is distinct from 'JOB' and not d.hidden and d.id in (
    select coalesce(c.canonical_id, n.id) from datasets n left join dataset_canonical c on c.dataset_id = n.id
    where n.name ilike %(pattern)s and not n.hidden)
  union all
  select 'JOB', j.id, j.namespace, case when p.id is null or starts_with(j.name, p.name || '.') then j.name else p.name || '.' || j.name end, j.last_seen
  from jobs j left join jobs p on p.id = j.parent_id
  where %(type)s::text is distinct from 'DATASET' and not j.hidden and (j.name ilike %(pattern)s or p.name || '.' || j.name ilike %(pattern)s)) n
where (%(namespace)s::text is null or namespace = %(namespace)s)
  and (%(before)s::timestamptz is null or last_seen < %(before)s) and (%(after)s::timestamptz is null or last_seen > %(after)s)
order by case when %(by_time)s then last_seen end desc, name, namespace, type limit %(limit)s
