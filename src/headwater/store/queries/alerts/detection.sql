-- name: failures :many
-- Failures in a window that follow a good run of their job, or are its first: the job, the run, its state, when it ended, the run before, and when a good run
-- ended the failures. A run that is part of another is shown by that one, if that one reports itself.
select r.job_id, r.run_id, r.state, coalesce(r.ended_at, r.last_event_at) as at, p.run_id, p.at, n.at
from runs r join jobs j on j.id = r.job_id
left join lateral (
  select b.run_id, b.state, coalesce(b.ended_at, b.last_event_at) as at from runs b
  where b.job_id = r.job_id and b.state in (3, 4, 5) and (b.first_event_at, b.run_id) < (r.first_event_at, r.run_id)
  order by b.first_event_at desc, b.run_id desc limit 1) p on true
left join lateral (
  select coalesce(g.ended_at, g.last_event_at) as at from runs g
  where g.job_id = r.job_id and g.state = 3 and g.first_event_at > r.first_event_at order by g.first_event_at limit 1) n on true
where r.first_event_at > %(since)s::timestamptz - interval '30 days' and r.first_event_at <= %(until)s and r.state in (4, 5)
  and coalesce(r.ended_at, r.last_event_at) > %(since)s and coalesce(r.ended_at, r.last_event_at) <= %(until)s
  and not j.hidden and coalesce(p.state, 3) = 3
  and (r.parent_run_id is null or not exists (select from runs q where q.run_id = r.parent_run_id and q.state <> 0))
order by 4, r.job_id, r.run_id limit %(limit)s

-- name: lasting_failures :many
-- Failures that began before a window and lasted into it, as of `failures`.
select r.job_id, r.run_id, r.state, coalesce(r.ended_at, r.last_event_at) as at, p.run_id, p.at, n.at
from jobs j
cross join lateral (
  select max(g.first_event_at) as good from runs g where g.job_id = j.id and g.state = 3 and g.first_event_at <= %(since)s) l
cross join lateral (
  select b.* from runs b where b.job_id = j.id and b.state in (4, 5) and b.first_event_at > coalesce(l.good, '-infinity') and b.first_event_at <= %(since)s
  order by b.first_event_at, b.run_id limit 1) r
left join lateral (
  select b.run_id, coalesce(b.ended_at, b.last_event_at) as at from runs b
  where b.job_id = r.job_id and b.state = 3 and b.first_event_at < r.first_event_at order by b.first_event_at desc, b.run_id desc limit 1) p on true
left join lateral (
  select coalesce(g.ended_at, g.last_event_at) as at from runs g
  where g.job_id = r.job_id and g.state = 3 and g.first_event_at > r.first_event_at order by g.first_event_at limit 1) n on true
where not j.hidden and j.last_seen > %(since)s::timestamptz - interval '30 days' and coalesce(r.ended_at, r.last_event_at) <= %(since)s
  and coalesce(r.ended_at, r.last_event_at) > %(since)s::timestamptz - interval '30 days'
  and (r.parent_run_id is null or not exists (select from runs q where q.run_id = r.parent_run_id and q.state <> 0))
limit %(limit)s

-- name: failed_checks :many
-- Checks that failed in a window and had not failed before: the dataset (of a check of a whole run each that it read, or else wrote, or else its job), name,
-- column, time, detail, the time of the result before, and when it failed no more.
select coalesce(c.canonical_id, t.subject), k.name, k.field, k.at, k.detail, p.at, n.at, k.run_id, k.direction
from checks k
left join lateral (
  select array_agg(distinct d.dataset_id) filter (where d.direction = 'in') as read, array_agg(distinct d.dataset_id) as any
  from stated_datasets d where k.direction = 'run' and d.job_id = k.job_id and d.report_id = k.run_id) r on true
cross join lateral unnest(coalesce(r.read, r.any, array[k.dataset_id])) t (subject)
left join dataset_canonical c on c.dataset_id = t.subject
left join lateral (
  select b.at, b.result from checks b where b.dataset_id = k.dataset_id and b.name = k.name and b.field = k.field and b.at < k.at order by b.at desc limit 1) p on true
left join lateral (
  select b.at from checks b where b.dataset_id = k.dataset_id and b.name = k.name and b.field = k.field and b.at > k.at and b.result < 2 order by b.at limit 1) n on true
where k.result = 2 and k.at > %(since)s and k.at <= %(until)s and coalesce(p.result, 0) < 2
order by k.at, 1, k.name, k.field limit %(limit)s

-- name: verdicts :many
-- Verdicts of a window that were not retracted, with the datasets and jobs that they are about: those of their versions and runs.
select i.id, i.opened_at, i.reason, i.closed_at,
       array(select distinct coalesce(c.canonical_id, v.dataset_id) from incident_origins o join dataset_versions v on v.id::text = o.ref
             left join dataset_canonical c on c.dataset_id = v.dataset_id where o.incident = i.id and o.kind = 'VERSION') as datasets,
       array(select distinct r.job_id from incident_origins o join runs r on r.run_id::text = o.ref where o.incident = i.id and o.kind = 'RUN') as jobs
from incidents i where i.opened_at > %(since)s and i.opened_at <= %(until)s and i.state <> 'retracted' order by i.opened_at, i.id limit %(limit)s

-- name: new_schemas :many
-- Datasets with facets that were first reported in a window and hold a schema, or that came back after others with one, by the names that stand for them.
select distinct coalesce(c.canonical_id, f.owner) from owner_facets f join facet_sets s on s.id = f.set_id and s.name = 'schema' and not s.deleted
join datasets d on d.id = f.owner left join dataset_canonical c on c.dataset_id = f.owner
where not d.hidden and (f.first_at > %(since)s and f.first_at <= %(until)s
  or f.last_at > %(since)s and f.first_at <= %(until)s and exists (
    select from owner_facets o join facet_sets t on t.id = o.set_id and t.name = 'schema' and not t.deleted and t.body_id <> s.body_id
    where o.owner = f.owner and o.first_at > f.first_at and o.first_at <= f.last_at)) limit %(limit)s

-- name: first_seen :many
-- Datasets that were first seen in a window.
select d.id, d.first_seen from datasets d
where d.first_seen > %(since)s and d.first_seen <= %(until)s and not d.hidden
  and not exists (select from dataset_canonical c where c.dataset_id = d.id and c.canonical_id <> d.id)
order by d.first_seen, d.id limit %(limit)s

-- name: dropped :many
-- Datasets that were dropped in a window: the dataset, when, the version that says so, and the job.
select coalesce(c.canonical_id, v.dataset_id), v.written_at, v.id, v.job_id
from dataset_versions v left join dataset_canonical c on c.dataset_id = v.dataset_id left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
where v.lifecycle = 'DROP' and v.written_at > %(since)s and v.written_at <= %(until)s and coalesce(r.state, 3) not in (4, 5)
order by v.written_at, v.id limit %(limit)s

-- name: used_again :many
-- Reads by runs of a window of datasets that had been read before, but by no run in the time before it: dataset, job, time.
with read as (
  select coalesce(c.canonical_id, d.dataset_id) as node, d.job_id, r.first_event_at as at
  from runs r join report_datasets d on d.job_id = r.job_id and d.report_id = r.run_id and d.direction = 'in'
  left join dataset_canonical c on c.dataset_id = d.dataset_id
  where r.first_event_at > %(since)s and r.first_event_at <= %(until)s
)
select distinct on (x.node, x.at) x.node, x.job_id, x.at from read x
where exists (
    select from edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
    where coalesce(c.canonical_id, e.dataset_id) = x.node and e.direction = 'in' and e.first_at <= x.at - make_interval(secs => %(unused)s))
  and not exists (
    select from edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
    join runs b on b.job_id = e.job_id and b.first_event_at > x.at - make_interval(secs => %(unused)s) and b.first_event_at < x.at
    join report_datasets d on d.job_id = b.job_id and d.report_id = b.run_id and d.dataset_id = e.dataset_id and d.direction = 'in'
    where coalesce(c.canonical_id, e.dataset_id) = x.node and e.direction = 'in')
order by x.node, x.at, x.job_id limit %(limit)s

-- name: measured_costs :many
-- Datasets and jobs whose cost was measured in a window.
select distinct f.owner from owner_facets f join facet_sets s on s.id = f.set_id and s.name = 'headwater_cost' and not s.deleted
where f.first_at > %(since)s and f.first_at <= %(until)s limit %(limit)s
