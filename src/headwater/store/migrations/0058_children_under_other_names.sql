-- A child's edge stands for its parent's also where the two know the dataset by different names, and edges of a run that a snapshot replaced stand for none.

create or replace view live_child_edges as
select child.parent_id, seen.dataset_id, seen.direction, child.id as child_id
from jobs child join edges seen on seen.job_id = child.id
where child.parent_id is not null and not child.hidden
  and (seen.manual or seen.intermittent or seen.last_at >= coalesce(child.settled_at, '-infinity')
       or seen.declared_at >= coalesce(child.declared_at, (select max(r.first_at) from reports r where r.job_id = child.id and r.declaration)))
union all
-- The same under each other name of the dataset, since the parent may know it by that.
select child.parent_id, other.dataset_id, seen.direction, child.id as child_id
from jobs child join edges seen on seen.job_id = child.id
join dataset_canonical one on one.dataset_id = seen.dataset_id
join dataset_canonical other on other.canonical_id = one.canonical_id and other.dataset_id <> one.dataset_id
where child.parent_id is not null and not child.hidden
  and (seen.manual or seen.intermittent or seen.last_at >= coalesce(child.settled_at, '-infinity')
       or seen.declared_at >= coalesce(child.declared_at, (select max(r.first_at) from reports r where r.job_id = child.id and r.declaration)));

-- A dataset and its other names.
create function names_of(dataset uuid) returns setof uuid
language sql stable as $$
  select dataset
  union all
  select other.dataset_id from dataset_canonical one join dataset_canonical other on other.canonical_id = one.canonical_id
  where one.dataset_id = dataset and other.dataset_id <> dataset
$$;

-- The views of the schema `lineage` ask this of declared edges. Their reader may see no table, and may have any search path: so the answer is the owner's, and
-- its names, and those of what it calls, are looked for where they were made.
create or replace function tells_columns_alone(parent uuid, dataset uuid) returns boolean
language sql stable security definer set search_path from current as $$
  select exists (select from report_columns c where c.job_id = parent and c.target_id = dataset) and exists (
    select f from live_column_sets(array[parent], array[dataset]) own cross join lateral columns_of_set(own.set_id, true) f
    except
    select f from (
      select array_agg(c.child_id) as jobs, array_agg(n) as targets from live_child_edges c cross join names_of(dataset) n
      where c.parent_id = parent and c.dataset_id = dataset and c.direction = 'out') child
    cross join lateral live_column_sets(child.jobs, child.targets) told cross join lateral columns_of_set(told.set_id, false) f)
$$;

create or replace function children_with_edge(parent uuid, dataset uuid, side text, as_of timestamptz) returns uuid[]
language sql stable as $$
  select coalesce(array_agg(distinct child.id), '{}') from jobs child join edges seen on seen.job_id = child.id
  where child.parent_id = parent and not child.hidden and seen.dataset_id = any(array(select names_of(dataset))) and seen.direction = side and seen.first_at <= as_of
    and (exists (
      select from live_reports(array[child.id], as_of) l
      join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.dataset_id = seen.dataset_id and d.direction = side and d.first_at <= as_of
        and not is_replaced(d.job_id, d.report_id, d.last_at, as_of)
      having bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
    or exists (select from manual_edges(null, array[child.id], as_of) x where x.dataset_id = seen.dataset_id and x.direction = side))
$$;

-- True if a job had told columns of a dataset, at a time, that none of these jobs had.
create or replace function told_columns_alone(job uuid, dataset uuid, others uuid[], as_of timestamptz) returns boolean
language sql stable as $$
  select exists (select from report_columns c where c.job_id = job and c.target_id = dataset) and exists (
    select f from past_column_sets(array[job], array[dataset], as_of) own cross join lateral columns_of_set(own.set_id, true) f
    except
    select f from (select array_agg(o) as jobs, array_agg(n) as targets from unnest(others) o cross join names_of(dataset) n) other
    cross join lateral past_column_sets(other.jobs, other.targets, as_of) told cross join lateral columns_of_set(told.set_id, false) f)
$$;

create or replace function yields_to_children(job uuid, dataset uuid, side text, as_of timestamptz) returns boolean
language sql stable as $$
  select children_with_edge(job, dataset, side, as_of) <> '{}'
    and not exists (
      select from live_reports(array[job], as_of) l
      join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.first_at <= as_of
        and not is_replaced(d.job_id, d.report_id, d.last_at, as_of)
      cross join lateral (select case when d.direction = 'out' then children_with_edge(job, d.dataset_id, 'out', as_of) end as ids) child
      group by d.dataset_id, d.direction, child.ids
      having (bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
        and (not bool_and(d.declared) or side = 'in' and child.ids = '{}'
          or d.direction = 'out' and (side = 'in' or d.dataset_id = dataset) and told_columns_alone(job, d.dataset_id, coalesce(child.ids, '{}'), as_of)))
    and not exists (select from manual_edges(null, array[job], as_of))
$$;

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
    and not is_replaced(d.job_id, d.report_id, d.last_at, as_of)
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

-- A job that was deleted connects nothing: its edges are not alive until an event reports it again.
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
          or own.direction = 'out' and (e.direction = 'in' or own.dataset_id = e.dataset_id) and tells_columns_alone(own.job_id, own.dataset_id))))
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
