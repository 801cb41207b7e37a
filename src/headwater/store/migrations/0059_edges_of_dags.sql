-- A DAG that declares a hundred inputs and outputs, as its tasks report them, is asked ten thousand times: the function only where the DAG tells columns at all.
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
        and (not own.declared or own.manual
          or e.direction = 'in' and own.direction = 'out' and not exists (
            select from live_child_edges c where c.parent_id = e.job_id and c.dataset_id = own.dataset_id and c.direction = 'out')
          or own.direction = 'out' and (e.direction = 'in' or own.dataset_id = e.dataset_id) and exists (
            select from report_columns c where c.job_id = own.job_id and c.target_id = own.dataset_id) and tells_columns_alone(own.job_id, own.dataset_id))))
union all
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at), e.last_at is null, false,
       exists (select from jobs o where o.id = e.job_id and o.explicit_at is not null), now_and_then.yes, false
from foreign_edges e left join jobs r on r.id = e.reporter_id
cross join lateral (
  select coalesce(intermittent(count(d.report_id), min(o.place), max(o.place), cardinality(r.settled)), false) as yes
  from unnest(r.settled) with ordinality o (report_id, place)
  join stated_foreign_edges d on d.job_id = e.reporter_id and d.report_id = o.report_id and d.dataset_id = e.dataset_id and d.edge_job_id = e.job_id
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

-- True if a job had edges of its own at a time beside those of the jobs below it: what it reported itself, what it declared and none of them had, or columns
-- that it alone told.
create function stands_beside_children(job uuid, as_of timestamptz) returns boolean
language sql stable as $$
  with own as (
    select d.dataset_id, d.direction, bool_and(d.declared) as declared
    from live_reports(array[job], as_of) l
    join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.first_at <= as_of
      and not is_replaced(d.job_id, d.report_id, d.last_at, as_of)
    group by d.dataset_id, d.direction
    having bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
  select exists (select from own where not declared) or exists (select from manual_edges(null, array[job], as_of)) or exists (
    select from own cross join lateral (select children_with_edge(job, own.dataset_id, 'out', as_of) as ids) child
    where own.direction = 'out' and (child.ids = '{}' or told_columns_alone(job, own.dataset_id, child.ids, as_of)))
$$;

-- An output gives way to that of a job below, an input to that of a job below where the job has nothing of its own. Callers that ask for many inputs of one job ask
-- `stands_beside_children` once.
create or replace function yields_to_children(job uuid, dataset uuid, side text, as_of timestamptz) returns boolean
language sql stable as $$
  select child.ids <> '{}' and case side when 'in' then not stands_beside_children(job, as_of) else not told_columns_alone(job, dataset, child.ids, as_of)
    and not (exists (select from report_datasets d where d.job_id = job and not d.declared and d.first_at <= as_of) and exists (
      select from live_reports(array[job], as_of) l
      join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.first_at <= as_of
        and not is_replaced(d.job_id, d.report_id, d.last_at, as_of)
      group by d.dataset_id, d.direction
      having (bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled))) and not bool_and(d.declared)))
    and not exists (select from manual_edges(null, array[job], as_of)) end
  from (select children_with_edge(job, dataset, side, as_of) as ids) child
$$;
