-- A declared output of a job also stays where the job tells columns of it that no live child tells (docs/decisions/072).

-- Sets of column edges that these jobs report for these targets now; for each report and target the evidence of highest precedence. `fresh`: false where the set
-- only comes and goes, so that some of its sources may have ended.
create function live_column_sets(jobs uuid[], targets uuid[])
returns table (job_id uuid, target_id uuid, set_id uuid, origin smallint, fresh boolean)
language sql stable as $$
  with told as (
    select a.job_id, a.target_id, c.set_id, c.origin, c.report_id = d.report_id or c.at >= coalesce(j.settled_at, '-infinity') as fresh,
           array_position(j.settled, c.report_id) as place, cardinality(j.settled) as settled,
           rank() over (partition by a.job_id, c.report_id, a.target_id order by c.origin) as precedence
    from (select distinct u.job_id, u.target_id from unnest(jobs, targets) u (job_id, target_id)) a
    left join jobs j on j.id = a.job_id
    left join lateral (
      select r.report_id from reports r where r.job_id = a.job_id and r.declaration order by r.first_at desc, r.report_id limit 1) d on true
    cross join lateral (
      select b.report_id, b.set_id, b.origin, b.at from report_columns b
      where b.job_id = a.job_id and b.target_id = a.target_id and b.at >= coalesce(j.settled_at, '-infinity')
      union
      select b.report_id, b.set_id, b.origin, b.at from report_columns b
      where b.job_id = a.job_id and b.target_id = a.target_id and b.report_id = any(j.settled || d.report_id)) c
    where c.report_id = d.report_id or not exists (select from reports r where r.job_id = a.job_id and r.report_id = c.report_id and r.declaration)
  )
  select told.job_id, told.target_id, told.set_id, told.origin, bool_or(told.fresh) from told where told.precedence = 1
  group by told.job_id, told.target_id, told.set_id, told.origin
  having bool_or(told.fresh) or intermittent(count(distinct told.place), min(told.place), max(told.place), max(told.settled))
$$;

-- The same as these jobs had reported by a time.
create function past_column_sets(jobs uuid[], targets uuid[], as_of timestamptz)
returns table (job_id uuid, target_id uuid, set_id uuid, origin smallint, fresh boolean)
language sql stable as $$
  with live as (
    select * from live_reports((select array_agg(distinct j) from unnest(jobs) j), as_of)
  ), told as (
    select c.job_id, c.target_id, c.set_id, c.origin, c.at >= l.since as fresh, l.place, l.settled,
           rank() over (partition by c.job_id, c.report_id, c.target_id order by c.origin) as precedence
    from live l join report_columns c on c.job_id = l.job_id and c.report_id = l.report_id
    where (c.job_id, c.target_id) in (select * from unnest(jobs, targets))
  )
  select told.job_id, told.target_id, told.set_id, told.origin, bool_or(told.fresh) from told where told.precedence = 1
  group by told.job_id, told.target_id, told.set_id, told.origin
  having bool_or(told.fresh) or intermittent(count(distinct told.place), min(told.place), max(told.place), max(told.settled))
$$;

-- The columns of its target that a set tells of; the empty name is the target as a whole. `fed`: of those alone that have an input.
create function columns_of_set(set uuid, fed boolean) returns setof text
language sql stable as $$
  select distinct edge ->> 0 from column_sets s cross join lateral jsonb_array_elements(convert_from(s.edges, 'UTF8')::jsonb) edge
  where s.id = set and not (fed and edge ->> 1 = '00000000-0000-0000-0000-000000000000')
$$;

create or replace view live_child_edges as
select child.parent_id, seen.dataset_id, seen.direction, child.id as child_id
from jobs child join edges seen on seen.job_id = child.id
where child.parent_id is not null and not child.hidden
  and (seen.manual or seen.intermittent or seen.last_at >= coalesce(child.settled_at, '-infinity')
       or seen.declared_at >= coalesce(child.declared_at, (select max(r.first_at) from reports r where r.job_id = child.id and r.declaration)));

-- True if a job tells columns of a dataset that no job below it tells, of those that write it now.
create function tells_columns_alone(parent uuid, dataset uuid) returns boolean
language sql stable as $$
  select exists (select from report_columns c where c.job_id = parent and c.target_id = dataset) and exists (
    select f from live_column_sets(array[parent], array[dataset]) own cross join lateral columns_of_set(own.set_id, true) f
    except
    select f from (select array_agg(c.child_id) as ids from live_child_edges c where c.parent_id = parent and c.dataset_id = dataset and c.direction = 'out') child
    cross join lateral live_column_sets(child.ids, array_fill(dataset, array[cardinality(child.ids)])) told cross join lateral columns_of_set(told.set_id, false) f)
$$;

-- The jobs below a job that had an edge at a time, by what they had reported until then.
drop function child_has_edge(uuid, uuid, text, timestamptz);
create function children_with_edge(parent uuid, dataset uuid, side text, as_of timestamptz) returns uuid[]
language sql stable as $$
  select coalesce(array_agg(child.id), '{}') from jobs child join edges seen on seen.job_id = child.id
  where child.parent_id = parent and not child.hidden and seen.dataset_id = dataset and seen.direction = side and seen.first_at <= as_of
    and (exists (
      select from live_reports(array[child.id], as_of) l
      join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.dataset_id = dataset and d.direction = side and d.first_at <= as_of
      having bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
    or exists (select from manual_edges(null, array[child.id], as_of) x where x.dataset_id = dataset and x.direction = side))
$$;

-- True if a job had told columns of a dataset, at a time, that none of these jobs had.
create function told_columns_alone(job uuid, dataset uuid, others uuid[], as_of timestamptz) returns boolean
language sql stable as $$
  select exists (select from report_columns c where c.job_id = job and c.target_id = dataset) and exists (
    select f from past_column_sets(array[job], array[dataset], as_of) own cross join lateral columns_of_set(own.set_id, true) f
    except
    select f from past_column_sets(others, array_fill(dataset, array[cardinality(others)]), as_of) told
    cross join lateral columns_of_set(told.set_id, false) f)
$$;

-- True if a job's declared edge gave way at a time to those of the jobs below it.
drop function yields_to_children(uuid, text, timestamptz);
create function yields_to_children(job uuid, dataset uuid, side text, as_of timestamptz) returns boolean
language sql stable as $$
  select children_with_edge(job, dataset, side, as_of) <> '{}'
    and not exists (
      select from live_reports(array[job], as_of) l
      join report_datasets d on d.job_id = l.job_id and d.report_id = l.report_id and d.first_at <= as_of
      cross join lateral (select case when d.direction = 'out' then children_with_edge(job, d.dataset_id, 'out', as_of) end as ids) child
      group by d.dataset_id, d.direction, child.ids
      having (bool_or(d.last_at >= l.since) or intermittent(count(distinct l.place), min(l.place), max(l.place), max(l.settled)))
        and (not bool_and(d.declared) or side = 'in' and child.ids = '{}'
          or d.direction = 'out' and (side = 'in' or d.dataset_id = dataset) and told_columns_alone(job, d.dataset_id, coalesce(child.ids, '{}'), as_of)))
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
