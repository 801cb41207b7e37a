-- Edges that are parsed from the SQL of jobs that report no dataset (docs/decisions/052): in `foreign_edges`, with the nil id as their reporter. They are
-- alive if the job's latest complete run, or its latest declaration, has them. `parsed_sql`: whether they count at all, a setting of the server.
alter table server_state add column parsed_sql boolean not null default true;

-- Return whether parsed edges of a job count: neither it nor the job above it has reported a dataset by then.
create function counts_as_parsed(job uuid, as_of timestamptz) returns boolean
language sql stable as $$
  select (select s.parsed_sql from server_state s)
    and not exists (select from edges o where o.job_id = job and (o.last_at is not null or o.declared_at is not null) and o.first_at <= as_of)
    and not exists (select from jobs j join edges p on p.job_id = j.parent_id where j.id = job and p.first_at <= as_of)
    and not exists (select from jobs j join foreign_edges p on p.job_id = j.parent_id where j.id = job and p.first_at <= as_of)
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
where e.reporter_id <> '00000000-0000-0000-0000-000000000000' and (now_and_then.yes or e.last_at >= coalesce(r.settled_at, '-infinity')
   or e.declared_at >= coalesce(r.declared_at, (select max(p.first_at) from reports p where p.job_id = e.reporter_id and p.declaration)))
  and not exists (select from jobs o where o.id = e.job_id and o.hidden)
union all
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at), e.last_at is null, false, false, false, true
from foreign_edges e cross join lateral (
  select max(f.last_at) as seen, max(f.declared_at) as declared from foreign_edges f where f.job_id = e.job_id and f.reporter_id = '00000000-0000-0000-0000-000000000000') newest
where e.reporter_id = '00000000-0000-0000-0000-000000000000' and (e.last_at = newest.seen or e.declared_at = newest.declared)
  and counts_as_parsed(e.job_id, 'infinity') and not exists (select from jobs o where o.id = e.job_id and o.hidden);

drop function past_foreign_edges;
-- Edges of foreign reporters that were alive at a time, by the reporters' reports until then (`live_reports`): of these datasets, or of these jobs.
create function past_foreign_edges(datasets uuid[], jobs uuid[], as_of timestamptz)
returns table (dataset_id uuid, job_id uuid, direction text, declared boolean, first_at timestamptz, last_at timestamptz, intermittent boolean, parsed boolean)
language sql stable as $$
  with candidate as (
    select e.* from foreign_edges e where (e.dataset_id = any(datasets) or e.job_id = any(jobs)) and e.first_at <= as_of and e.reporter_id <> '00000000-0000-0000-0000-000000000000'
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
$$;

drop function walk_edges;
-- The live edges that a walk in one direction may need, a hop at a time inside the server: `near` edges of the datasets met (writers upstream,
-- readers downstream), `far` edges of the jobs met. Each dataset and job is looked at once, so the cost follows the answer.
-- A walk that met more than `most` stops early and says so with a row of nulls.
create function walk_edges(datasets uuid[], jobs uuid[], near text, far text, depth int, most int)
returns table (node uuid, job_id uuid, direction text, declared boolean, first_at timestamptz, last_at timestamptz, explicit boolean, manual boolean, intermittent boolean, parsed boolean)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
declare
  frontier uuid[] := datasets;
  via uuid[] := jobs;
  met uuid[] := datasets;
  passed uuid[] := jobs;
begin
  for hop in 1 .. depth + 1 loop
    if hop > 1 or cardinality(jobs) = 0 then
      return query
        with member as (
          select f as node, f as id from unnest(frontier) f
          union all select c.canonical_id, c.dataset_id from dataset_canonical c where c.canonical_id = any(frontier) and c.canonical_id <> c.dataset_id
        )
        select m.node, e.job_id, e.direction, e.declared, e.first_at, e.last_at, e.explicit, e.manual, e.intermittent, e.parsed
        from member m join live_edges e on e.dataset_id = m.id and e.direction = near;
      if hop > depth then
        return;
      end if;
      via := array(
        select e.job_id from reported_edges e
        where e.direction = near and e.dataset_id in (select unnest(frontier) union all select c.dataset_id from dataset_canonical c where c.canonical_id = any(frontier))
        except select unnest(passed));
      passed := passed || via;
    end if;
    return query
      select coalesce(c.canonical_id, e.dataset_id), e.job_id, e.direction, e.declared, e.first_at, e.last_at, e.explicit, e.manual, e.intermittent, e.parsed
      from live_edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
      where e.job_id = any(via) and e.direction = far;
    frontier := array(
      select coalesce(c.canonical_id, e.dataset_id) from reported_edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
      where e.job_id = any(via) and e.direction = far
      except select unnest(met));
    met := met || frontier;
    if cardinality(frontier) = 0 then
      return;
    end if;
    if cardinality(met) + cardinality(passed) > most then
      return query select null::uuid, null::uuid, null::text, null::boolean, null::timestamptz, null::timestamptz, null::boolean, null::boolean, null::boolean, null::boolean;
      return;
    end if;
  end loop;
end
$$;

-- Jobs with SQL and without a dataset have edges after a rebuild. Where months of the log were dropped, it would lose what they reported.
update server_state set rebuild_needed = rebuild_needed or (log_dropped_before is null and exists (
  select from facet_sets s join owner_facets f on f.set_id = s.id join jobs j on j.id = f.owner
  where s.name = 'sql' and not s.deleted and not exists (select from edges e where e.job_id = j.id)));
