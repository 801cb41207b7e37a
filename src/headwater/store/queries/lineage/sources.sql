-- name: page :many
-- The namespaces that datasets live in, the one with the latest event first: datasets, first and last seen.
select namespace, count(*), min(first_seen), max(last_seen) from datasets
where not hidden and (%(namespace)s::text is null or namespace = %(namespace)s)
group by namespace order by 4 desc, 1 limit %(limit)s offset %(offset)s

-- name: count :one
-- The number of namespaces.
select count(distinct namespace) from datasets where not hidden and (%(namespace)s::text is null or namespace = %(namespace)s)

-- name: jobs :many
-- The number of jobs that write to and read from each of these namespaces.
select d.namespace, count(distinct e.job_id) filter (where e.direction = 'out'), count(distinct e.job_id) filter (where e.direction = 'in')
from datasets d join edges e on e.dataset_id = d.id where d.namespace = any(%(namespaces)s::text[]) and not d.hidden group by 1

-- name: producers :many
-- The producers that report about each of these namespaces, by the last runs of the jobs of its datasets with the latest events: producer, last arrival, and the
-- median of seconds between an event and its arrival.
with sampled as (
  select n.namespace, d.id from unnest(%(namespaces)s::text[]) n (namespace)
  cross join lateral (select id from datasets where namespace = n.namespace and not hidden order by last_seen desc limit %(datasets)s) d
), job as (
  select distinct s.namespace, e.job_id from sampled s join edges e on e.dataset_id = s.id
), run as (
  select j.namespace, r.run_id from job j
  cross join lateral (select run_id from runs where job_id = j.job_id order by first_event_at desc limit 1) r
)
select r.namespace, e.producer, max(e.received_at), percentile_cont(0.5) within group (order by extract(epoch from e.received_at - e.event_time))::float8
from run r join events e on e.run_id = r.run_id group by 1, 2 order by 1, 3 desc, 2
