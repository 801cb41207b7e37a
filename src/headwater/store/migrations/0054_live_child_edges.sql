-- A declared edge gives way to the same edge of a job below only while that one is live. One that the child's newest run lacks has ended, and what the parent
-- declares answers again (docs/decisions/071).
create view live_child_edges as
select child.parent_id, seen.dataset_id, seen.direction
from jobs child join edges seen on seen.job_id = child.id
where child.parent_id is not null and not child.hidden
  and (seen.manual or seen.intermittent or seen.last_at >= coalesce(child.settled_at, '-infinity')
       or seen.declared_at >= coalesce(child.declared_at, (select max(r.first_at) from reports r where r.job_id = child.id and r.declaration)));

-- The same at a time, of one edge: by what the children that ever had it had reported until then.
create function child_has_edge(parent uuid, dataset uuid, side text, as_of timestamptz) returns boolean
language sql stable as $$
  select exists (
    select from jobs child join edges seen on seen.job_id = child.id
    where child.parent_id = parent and not child.hidden and seen.dataset_id = dataset and seen.direction = side and seen.first_at <= as_of
      and (exists (
        select from live_reports(array[child.id], as_of) l
        join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.dataset_id = dataset and d.direction = side and d.first_at <= as_of
        having bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
      or exists (select from manual_edges(null, array[child.id], as_of) x where x.dataset_id = dataset and x.direction = side)))
$$;

create or replace function yields_to_children(job uuid, side text, as_of timestamptz) returns boolean
language sql stable as $$
  select not exists (
    select from live_reports(array[job], as_of) l
    join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.first_at <= as_of
    group by d.dataset_id, d.direction
    having (bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
      and (not bool_and(d.declared) or side = 'in' and d.direction = 'out' and not child_has_edge(job, d.dataset_id, 'out', as_of)))
    and not exists (select from manual_edges(null, array[job], as_of))
$$;

create or replace view live_edges as
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at) as last_at, e.declared,
       case when e.manual then not coalesce(e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
         or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)), false)
       else false end as manual,
       (j.explicit_at is not null or j.id is null) as explicit, e.intermittent, false as parsed
from edges e left join jobs j on j.id = e.job_id
where j.hidden is not true and (e.manual or e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
       or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)))
  and (e.manual or not e.declared
    or not exists (select from live_child_edges c where c.parent_id = e.job_id and c.dataset_id = e.dataset_id and c.direction = e.direction)
    or exists (
      select from edges own where own.job_id = e.job_id
        and (own.manual or own.intermittent or own.last_at >= coalesce(j.settled_at, '-infinity')
             or own.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)))
        and (not own.declared or own.manual or e.direction = 'in' and own.direction = 'out' and not exists (
          select from live_child_edges c where c.parent_id = e.job_id and c.dataset_id = own.dataset_id and c.direction = 'out'))))
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
