-- Tables that a dbt model's SQL reads and its events do not list (docs/decisions/052): in `foreign_edges`, with the id of all zeros and a one as their
-- reporter. They live by the job's own reports. `counts_as_parsed` and the other edges are as they were.
create or replace view live_edges as
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at) as last_at, e.declared,
       case when e.manual then not coalesce(e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
         or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)), false)
       else false end as manual,
       (j.explicit_at is not null or j.id is null) as explicit, e.intermittent, false as parsed
from edges e left join jobs j on j.id = e.job_id
where j.hidden is not true and (e.manual or e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
       or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)))
  and (e.manual or not e.declared or not exists (
    select 1 from jobs child join edges seen on seen.job_id = child.id
    where child.parent_id = e.job_id and seen.dataset_id = e.dataset_id and seen.direction = e.direction))
union all
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at), e.last_at is null, false,
       exists (select from jobs o where o.id = e.job_id and o.explicit_at is not null), now_and_then.yes, false
from foreign_edges e left join jobs r on r.id = e.reporter_id
cross join lateral (
  select coalesce(intermittent(count(d.report_id), min(o.place), max(o.place), cardinality(r.settled)), false) as yes
  from unnest(r.settled) with ordinality o (report_id, place)
  join report_foreign_edges d on d.job_id = e.reporter_id and d.report_id = o.report_id and d.dataset_id = e.dataset_id and d.edge_job_id = e.job_id
    and d.direction = e.direction) now_and_then
where e.reporter_id not in ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001')
  and (now_and_then.yes or e.last_at >= coalesce(r.settled_at, '-infinity')
   or e.declared_at >= coalesce(r.declared_at, (select max(p.first_at) from reports p where p.job_id = e.reporter_id and p.declaration)))
  and not exists (select from jobs o where o.id = e.job_id and o.hidden)
union all
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at), e.last_at is null, false, false, false, true
from foreign_edges e cross join lateral (
  select max(f.last_at) as seen, max(f.declared_at) as declared from foreign_edges f where f.job_id = e.job_id and f.reporter_id = '00000000-0000-0000-0000-000000000000') newest
where e.reporter_id = '00000000-0000-0000-0000-000000000000' and (e.last_at = newest.seen or e.declared_at = newest.declared)
  and counts_as_parsed(e.job_id, 'infinity') and not exists (select from jobs o where o.id = e.job_id and o.hidden)
union all
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at), e.last_at is null, false, false, false, true
from foreign_edges e join jobs j on j.id = e.job_id
where e.reporter_id = '00000000-0000-0000-0000-000000000001' and (select s.parsed_sql from server_state s) and j.hidden is not true
  and (e.last_at >= coalesce(j.settled_at, '-infinity')
    or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)));

-- Edges of foreign reporters that were alive at a time, by the reporters' reports until then (`live_reports`): of these datasets, or of these jobs.
create or replace function past_foreign_edges(datasets uuid[], jobs uuid[], as_of timestamptz)
returns table (dataset_id uuid, job_id uuid, direction text, declared boolean, first_at timestamptz, last_at timestamptz, intermittent boolean, parsed boolean)
language sql stable as $$
  with candidate as (
    select e.* from foreign_edges e where (e.dataset_id = any(datasets) or e.job_id = any(jobs)) and e.first_at <= as_of
      and e.reporter_id not in ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000001')
  ), live as (
    select * from live_reports((select array_agg(distinct reporter_id) from candidate), as_of)
  )
  select c.dataset_id, c.job_id, c.direction, bool_and(r.declaration), min(c.first_at), least(max(d.last_at), as_of),
         intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)), false
  from candidate c
  join live l on l.job_id = c.reporter_id
  join report_foreign_edges d on d.job_id = l.job_id and d.report_id = l.report_id and d.dataset_id = c.dataset_id and d.edge_job_id = c.job_id
    and d.direction = c.direction and d.first_at <= as_of
  join reports r on r.job_id = l.job_id and r.report_id = l.report_id
  group by c.dataset_id, c.job_id, c.direction, c.reporter_id
  having bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled))
  union all
  -- Of what was parsed from SQL only the first and the last time are known: an edge that was last seen before another appeared had ended by then.
  select e.dataset_id, e.job_id, e.direction, e.last_at is null, e.first_at, least(coalesce(greatest(e.last_at, e.declared_at), e.first_at), as_of), false, true
  from foreign_edges e
  cross join lateral (
    select max(f.first_at) filter (where f.first_at <= as_of) as appeared, max(f.last_at) as seen, max(f.declared_at) as declared
    from foreign_edges f where f.job_id = e.job_id and f.reporter_id = '00000000-0000-0000-0000-000000000000') newest
  where e.reporter_id = '00000000-0000-0000-0000-000000000000' and (e.dataset_id = any(datasets) or e.job_id = any(jobs)) and e.first_at <= as_of
    and (e.last_at >= case when as_of >= newest.seen then newest.seen else newest.appeared end
         or e.declared_at >= case when as_of >= newest.declared then newest.declared else newest.appeared end)
    and counts_as_parsed(e.job_id, as_of)
  union all
  -- Beside what the job reports: alive since the newest settled report that began by then.
  select e.dataset_id, e.job_id, e.direction, e.last_at is null, e.first_at, least(coalesce(greatest(e.last_at, e.declared_at), e.first_at), as_of), false, true
  from foreign_edges e
  where e.reporter_id = '00000000-0000-0000-0000-000000000001' and (e.dataset_id = any(datasets) or e.job_id = any(jobs))
    and e.first_at <= as_of and (select s.parsed_sql from server_state s)
    and coalesce(greatest(e.last_at, e.declared_at), e.first_at) >= (select max(l.since) from live_reports(array[e.job_id], as_of) l)
$$;

-- Models in the log have these edges after a rebuild. Where months of the log were dropped, it would lose what they reported.
update server_state set rebuild_needed = rebuild_needed or (log_dropped_before is null and exists (
  select from facet_sets s join owner_facets f on f.set_id = s.id join jobs j on j.id = f.owner
  where s.name = 'sql' and not s.deleted and exists (select from facet_sets d join owner_facets g on g.set_id = d.id where g.owner = j.id and d.name = 'dbt_node')));
