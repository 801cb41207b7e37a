-- name: live_at_datasets :many
-- Live edges of these datasets (under any of their names) in one direction. By an array, for a join does not reach into the arms of the view's union.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
)
select m.node, e.job_id, e.direction, bool_and(e.declared), min(e.first_at), max(e.last_at), bool_or(e.explicit), bool_and(e.manual), bool_and(e.intermittent), bool_and(e.parsed)
from member m join live_edges e on e.dataset_id = m.id and e.direction = %(direction)s
where e.dataset_id = any(array(select id from member))
group by m.node, e.job_id, e.direction
order by 1, 2

-- name: live_at_jobs :many
-- Live edges of these jobs in one direction.
select coalesce(c.canonical_id, e.dataset_id), e.job_id, e.direction, bool_and(e.declared), min(e.first_at), max(e.last_at), bool_or(e.explicit), bool_and(e.manual), bool_and(e.intermittent), bool_and(e.parsed)
from live_edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
where e.job_id = any(%(ids)b) and e.direction = %(direction)s
group by 1, 2, 3
order by 1, 2

-- name: past_at_datasets :many
-- Edges of these datasets in one direction that were live at a time by the job's reports until then (`live_reports`), and those people had drawn.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
), candidate as (
  select m.node, e.dataset_id, e.job_id, e.direction from member m join edges e on e.dataset_id = m.id
  where e.direction = %(direction)s and e.first_at <= %(as_of)s
), live as (
  select * from live_reports((select array_agg(distinct job_id) from candidate), %(as_of)s)
), told as (
select c.node, d.job_id, d.direction, bool_and(d.declared) as declared, min(e.first_at) as first_at, least(max(d.last_at), %(as_of)s) as last_at,
       bool_or(j.explicit_at is not null or j.id is null) as explicit, false as manual,
       intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)) as intermittent, false as parsed
from candidate c
join live l on l.job_id = c.job_id
join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.dataset_id = c.dataset_id and d.direction = c.direction and d.first_at <= %(as_of)s
  and not exists (select from report_snapshots x where x.job_id = d.job_id and x.report_id = d.report_id and x.at > d.last_at and x.at <= %(as_of)s)
join edges e on e.dataset_id = d.dataset_id and e.job_id = d.job_id and e.direction = d.direction
left join jobs j on j.id = d.job_id
group by c.node, d.dataset_id, d.job_id, d.direction
having (bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
  and (not bool_and(d.declared) or not yields_to_children(d.job_id, d.dataset_id, d.direction, %(as_of)s))
union all
select m.node, x.job_id, x.direction, true, x.at, x.at, false, true, false, false
from manual_edges((select array_agg(id) from member), null, %(as_of)s) x join member m on m.id = x.dataset_id where x.direction = %(direction)s
union all
select m.node, x.job_id, x.direction, x.declared, x.first_at, x.last_at, exists (select from jobs o where o.id = x.job_id and o.explicit_at is not null), false, x.intermittent, x.parsed
from past_foreign_edges((select array_agg(id) from member), null, %(as_of)s) x join member m on m.id = x.dataset_id where x.direction = %(direction)s
)
select node, job_id, direction, bool_and(declared), min(first_at), max(last_at), bool_or(explicit), bool_and(manual), bool_and(intermittent), bool_and(parsed)
from told where not exists (select from jobs o where o.id = told.job_id and o.hidden) group by 1, 2, 3 order by 1, 2

-- name: past_at_jobs :many
-- Edges of these jobs in one direction that were live at a time (see past_at_datasets).
with live as (
  select * from live_reports(%(ids)b, %(as_of)s)
), standing as materialized (
  select l.job_id, stands_beside_children(l.job_id, %(as_of)s) as stands from (select distinct job_id from live) l
  where %(direction)s = 'in' and exists (select from jobs c where c.parent_id = l.job_id)
), told as (
select coalesce(c.canonical_id, d.dataset_id) as node, d.job_id, d.direction, bool_and(d.declared) as declared, min(e.first_at) as first_at,
       least(max(d.last_at), %(as_of)s) as last_at, bool_or(j.explicit_at is not null or j.id is null) as explicit, false as manual,
       intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)) as intermittent, false as parsed
from live l
join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.direction = %(direction)s and d.first_at <= %(as_of)s
  and not exists (select from report_snapshots x where x.job_id = d.job_id and x.report_id = d.report_id and x.at > d.last_at and x.at <= %(as_of)s)
join edges e on e.dataset_id = d.dataset_id and e.job_id = d.job_id and e.direction = d.direction
left join jobs j on j.id = d.job_id
left join dataset_canonical c on c.dataset_id = d.dataset_id
group by 1, d.dataset_id, 2, 3
having (bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
  and (not bool_and(d.declared) or case d.direction
    when 'in' then coalesce((select s.stands from standing s where s.job_id = d.job_id), true) or children_with_edge(d.job_id, d.dataset_id, 'in', %(as_of)s) = '{}'
    else not yields_to_children(d.job_id, d.dataset_id, 'out', %(as_of)s) end)
union all
select coalesce(c.canonical_id, x.dataset_id), x.job_id, x.direction, true, x.at, x.at, false, true, false, false
from manual_edges(null, %(ids)b, %(as_of)s) x left join dataset_canonical c on c.dataset_id = x.dataset_id where x.direction = %(direction)s
union all
select coalesce(c.canonical_id, x.dataset_id), x.job_id, x.direction, x.declared, x.first_at, x.last_at, exists (select from jobs o where o.id = x.job_id and o.explicit_at is not null), false, x.intermittent, x.parsed
from past_foreign_edges(null, %(ids)b, %(as_of)s) x left join dataset_canonical c on c.dataset_id = x.dataset_id where x.direction = %(direction)s
)
select node, job_id, direction, bool_and(declared), min(first_at), max(last_at), bool_or(explicit), bool_and(manual), bool_and(intermittent), bool_and(parsed)
from told where not exists (select from jobs o where o.id = told.job_id and o.hidden) group by 1, 2, 3 order by 1, 2

-- name: live_column_sets :many
-- Sets of column edges these jobs report for these targets now. The last column: false where the set only comes and goes, so that some of its sources may have ended.
select job_id, target_id, set_id, origin, fresh from live_column_sets(%(jobs)b, %(targets)b)

-- name: past_column_sets :many
-- Sets of column edges that these jobs had reported of these targets by a time.
select job_id, target_id, set_id, origin, fresh from past_column_sets(%(jobs)b, %(targets)b, %(as_of)s)

-- name: column_sets :many
-- The edges of sets.
select id, edges from column_sets where id = any(%(ids)b)

-- name: explicit_sets :many
-- The sets that feed each target of these jobs by explicit lineage; a target may be the job itself.
select c.job_id, c.target_id, c.set_id
from live_reports(%(ids)b, %(as_of)s) l
join report_columns c on c.job_id = l.job_id and c.report_id = l.report_id and c.origin = 1
  and not exists (select from report_snapshots x where x.job_id = c.job_id and x.report_id = c.report_id and x.at > c.at and x.at <= %(as_of)s)
group by 1, 2, 3 having bool_or(c.at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled))

-- name: foreign_reporters :many
-- Other reporters of edges of these jobs into these targets: (reporter, job, target); a target may be the job itself.
select distinct e.reporter_id, e.job_id, a.target_id
from unnest(%(jobs)b::uuid[], %(targets)b::uuid[]) as a (job_id, target_id)
join foreign_edges e on e.job_id = a.job_id and case e.direction when 'in' then e.job_id else e.dataset_id end = a.target_id

-- name: children_with_edges :many
-- Jobs below these jobs.
select id, parent_id from jobs where parent_id = any(%(ids)b) order by namespace, name

-- name: manual_column_sets :many
-- Sets of column edges that people had drawn at a time, of these jobs for these targets.
select x.job_id, case x.direction when 'out' then x.dataset_id else x.job_id end as target_id, x.set_id, 4, true
from manual_edges(null, (select array_agg(distinct j) from unnest(%(jobs)b::uuid[]) j), %(as_of)s) x
where x.set_id is not null
  and (x.job_id, case x.direction when 'out' then x.dataset_id else x.job_id end) in (select * from unnest(%(jobs)b::uuid[], %(targets)b::uuid[]))

-- name: walk :many
-- The live edges a walk in one direction may need; a row of nulls when it stopped early.
select * from walk_edges(%(datasets)b::uuid[], %(jobs)b::uuid[], %(near)s, %(far)s, %(depth)s, %(most)s)
