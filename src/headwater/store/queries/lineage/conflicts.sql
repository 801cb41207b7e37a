-- name: jobs_after :many
-- Jobs with edges (all, or those of a namespace), in the order of their ids.
select distinct e.job_id from edges e
where (%(after)s::uuid is null or e.job_id > %(after)s) and (%(namespace)s::text is null or exists (select 1 from jobs j where j.id = e.job_id and j.namespace = %(namespace)s))
order by e.job_id limit %(limit)s

-- name: edge_reports :many
-- The sources that reported what these jobs read and write, in what keeps their edges alive at a time: runs, manifests, JobEvents, people; when last, in which run.
select d.job_id, coalesce(c.canonical_id, d.dataset_id), d.direction,
       case when p.declaration then 'JOB_EVENT' when d.declared then 'MANIFEST' else 'OBSERVED' end as who, max(least(d.last_at, %(as_of)s)),
       (array_agg(d.report_id order by d.last_at desc, d.report_id) filter (where not p.declaration))[1]
from live_reports(%(jobs)b, %(as_of)s) l
join reports p on p.job_id = l.job_id and p.report_id = l.report_id
join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.first_at <= %(as_of)s
  and not exists (select from report_snapshots x where x.job_id = d.job_id and x.report_id = d.report_id and x.at > d.last_at and x.at <= %(as_of)s)
left join dataset_canonical c on c.dataset_id = d.dataset_id
group by 1, 2, 3, 4 having bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled))
union all
select x.job_id, coalesce(c.canonical_id, x.dataset_id), x.direction, 'MANUAL', max(x.at), null
from manual_edges(null, %(jobs)b, %(as_of)s) x left join dataset_canonical c on c.dataset_id = x.dataset_id
group by 1, 2, 3

-- name: evidence :many
-- Every set of column evidence of these jobs in what keeps their edges alive at a time, of any precedence.
select c.job_id, c.target_id, c.origin, c.set_id, max(c.at), (array_agg(c.report_id order by c.at desc, c.report_id) filter (where not p.declaration))[1]
from live_reports(%(jobs)b, %(as_of)s) l
join reports p on p.job_id = l.job_id and p.report_id = l.report_id
join report_columns c on c.job_id = l.job_id and c.report_id = l.report_id and c.at <= %(as_of)s
  and not exists (select from report_snapshots x where x.job_id = c.job_id and x.report_id = c.report_id and x.at > c.at and x.at <= %(as_of)s)
group by 1, 2, 3, 4 having bool_or(c.at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled))
