-- An edge lives by the job's newest complete report (docs/decisions/042). `settled`: the job's settled reports, the newest first.
-- `settled_at`: when the newest began (null: no report ended any edge). `intermittent`: reported by settled reports now and then.
alter table jobs add column settled uuid[], add column settled_at timestamptz;
alter table edges add column intermittent boolean not null default false;

-- The newest ten of a job's last fifty reports that are of complete runs and have outputs; if none has, the newest ten of complete runs.
create function settled_reports(job uuid, as_of timestamptz) returns table (report_id uuid, first_at timestamptz)
language sql stable as $$
  with latest as (
    select r.report_id, r.first_at from reports r where r.job_id = job and not r.declaration and r.first_at <= as_of order by r.first_at desc, r.report_id limit 50
  ), written as (
    select l.report_id, l.first_at from latest l
    where exists (select from runs u where u.run_id = l.report_id and u.job_id = job and u.state = 3 and coalesce(u.ended_at, u.last_event_at) <= as_of offset 0)
      and exists (select from report_datasets d where d.job_id = job and d.report_id = l.report_id and d.direction = 'out' and d.first_at <= as_of offset 0)
    order by l.first_at desc, l.report_id limit 10
  )
  select w.report_id, w.first_at from written w
  union all
  (select l.report_id, l.first_at from latest l
   where not exists (select from written)
     and exists (select from runs u where u.run_id = l.report_id and u.job_id = job and u.state = 3 and coalesce(u.ended_at, u.last_event_at) <= as_of offset 0)
   order by l.first_at desc, l.report_id limit 10)
$$;

-- Reports that a job's settled ones have now and then: at least two had it, at least two did not, and it came back. Places count from 1.
create function intermittent(had bigint, first_place bigint, last_place bigint, settled bigint) returns boolean
language sql immutable as $$ select had >= 2 and settled - had >= 2 and last_place - first_place + 1 > had $$;

-- The reports that decide over a job's edges at a time: its settled ones with their places, what it reported since the newest of them began, and its
-- latest declaration. What they have is alive if it was reported at `since` or later, or is intermittent among the settled.
drop function live_reports(uuid[], timestamptz, int);
create function live_reports(jobs uuid[], as_of timestamptz) returns table (job_id uuid, report_id uuid, since timestamptz, place bigint, settled bigint)
language sql stable as $$
  select j.id, r.report_id, r.since, r.place, s.settled
  from unnest(jobs) as j (id)
  cross join lateral (
    select array_agg(f.report_id order by f.first_at desc, f.report_id) as ids, max(f.first_at) as since, count(*) as settled from settled_reports(j.id, as_of) f) s
  cross join lateral (
    select o.report_id, s.since, o.place from unnest(s.ids) with ordinality o (report_id, place)
    union all
    select p.report_id, coalesce(s.since, '-infinity'), null from reports p
    where p.job_id = j.id and not p.declaration and p.first_at <= as_of and p.first_at >= coalesce(s.since, '-infinity') and p.report_id <> all (coalesce(s.ids, '{}'))
    union all
    -- Runs that began before the newest settled one and may have reported since.
    (select p.report_id, s.since, null from reports p
     where p.job_id = j.id and not p.declaration and p.first_at < s.since and p.report_id <> all (s.ids) order by p.first_at desc limit 20)
    union all
    (select p.report_id, '-infinity', null from reports p
     where p.job_id = j.id and p.declaration and p.first_at <= as_of order by p.first_at desc, p.report_id limit 1)) r
$$;

-- The edges that are alive; `manual`: only a person keeps the edge alive. Only a person's edge has no report's time.
drop schema if exists lineage cascade;
drop function walk_edges;
drop view live_edges;
create view live_edges as
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at) as last_at, e.declared,
       case when e.manual then not coalesce(e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
         or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)), false)
       else false end as manual,
       (j.explicit_at is not null or j.id is null) as explicit, e.intermittent
from edges e left join jobs j on j.id = e.job_id
where (e.manual or e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
       or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)))
  and (e.manual or not e.declared or not exists (
    select 1 from jobs child join edges seen on seen.job_id = child.id
    where child.parent_id = e.job_id and seen.dataset_id = e.dataset_id and seen.direction = e.direction));
alter table jobs drop column horizon;

-- The live edges that a walk in one direction may need, a hop at a time inside the server: `near` edges of the datasets met (writers upstream,
-- readers downstream), `far` edges of the jobs met. Each dataset and job is looked at once, so the cost follows the answer.
-- A walk that met more than `most` stops early and says so with a row of nulls.
create function walk_edges(datasets uuid[], jobs uuid[], near text, far text, depth int, most int)
returns table (node uuid, job_id uuid, direction text, declared boolean, first_at timestamptz, last_at timestamptz, explicit boolean, manual boolean, intermittent boolean)
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
        select m.node, e.job_id, e.direction, e.declared, e.first_at, e.last_at, e.explicit, e.manual, e.intermittent
        from member m join live_edges e on e.dataset_id = m.id and e.direction = near;
      if hop > depth then
        return;
      end if;
      via := array(
        select e.job_id from edges e
        where e.direction = near and e.dataset_id in (select unnest(frontier) union all select c.dataset_id from dataset_canonical c where c.canonical_id = any(frontier))
        except select unnest(passed));
      passed := passed || via;
    end if;
    return query
      select coalesce(c.canonical_id, e.dataset_id), e.job_id, e.direction, e.declared, e.first_at, e.last_at, e.explicit, e.manual, e.intermittent
      from live_edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
      where e.job_id = any(via) and e.direction = far;
    frontier := array(
      select coalesce(c.canonical_id, e.dataset_id) from edges e left join dataset_canonical c on c.dataset_id = e.dataset_id
      where e.job_id = any(via) and e.direction = far
      except select unnest(met));
    met := met || frontier;
    if cardinality(frontier) = 0 then
      return;
    end if;
    if cardinality(met) + cardinality(passed) > most then
      return query select null::uuid, null::uuid, null::text, null::boolean, null::timestamptz, null::timestamptz, null::boolean, null::boolean, null::boolean;
      return;
    end if;
  end loop;
end
$$;

-- Settle these jobs: their newest complete reports, and which of their edges those have now and then. Each row is looked up by its key, whatever the
-- planner estimates (see facets_of); the comparison of rows leaves only the key of edges, where `=` would leave all edges of the job too.
create function settle_jobs(jobs uuid[]) returns void
language sql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
  with settled as (
    select s.id, f.ids, f.at from unnest($1) as s (id) cross join lateral (
      select array_agg(x.report_id order by x.first_at desc, x.report_id) as ids, max(x.first_at) as at from settled_reports(s.id, 'infinity') x) f
  ), moved as (
    update jobs j set settled = s.ids, settled_at = s.at from settled s
    where j.id = s.id and (j.settled, j.settled_at) is distinct from (s.ids, s.at)
  ), had as materialized (
    select s.id, d.dataset_id, d.direction, intermittent(count(*), min(o.place), max(o.place), cardinality(s.ids)) as intermittent
    from settled s cross join lateral unnest(s.ids) with ordinality o (report_id, place)
    cross join lateral (select dataset_id, direction from report_datasets where job_id = s.id and report_id = o.report_id offset 0) d
    where cardinality(s.ids) >= 4
    group by s.id, d.dataset_id, d.direction, s.ids
  ), differing as materialized (
    select h.id, h.dataset_id, h.direction from had h
    cross join lateral (
      select intermittent from edges
      where (dataset_id, job_id, direction) >= (h.dataset_id, h.id, h.direction) and (dataset_id, job_id, direction) <= (h.dataset_id, h.id, h.direction) offset 0) e
    where e.intermittent <> h.intermittent
    union all
    select s.id, e.dataset_id, e.direction from settled s
    cross join lateral (select dataset_id, direction from edges where job_id = s.id and intermittent offset 0) e
    where not exists (
      select from report_datasets d
      where d.job_id = s.id and d.report_id = any(s.ids) and d.dataset_id = e.dataset_id and d.direction = e.direction and cardinality(s.ids) >= 4 offset 0)
  )
  update edges e set intermittent = not e.intermittent from differing d
  where e.dataset_id = d.dataset_id and e.job_id = d.id and e.direction = d.direction
$$;
select settle_jobs(array(select id from jobs));
