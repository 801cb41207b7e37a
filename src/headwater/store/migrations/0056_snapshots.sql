-- Events of a run that announce the complete state of a time window (`emissionPattern` of `jobType`: COMPLETE_SNAPSHOT). What the run reported before is
-- replaced by it; what it reports after adds up again (docs/decisions/073).
create table report_snapshots (
  job_id    uuid        not null,
  report_id uuid        not null,
  at        timestamptz not null,
  primary key (job_id, report_id, at)
);

-- The inputs and outputs that each report states now: those that no later snapshot of the same run lacks.
create view stated_datasets as
select d.* from report_datasets d
where not exists (select from report_snapshots s where s.job_id = d.job_id and s.report_id = d.report_id and s.at > d.last_at);

-- The same of column edges, and of edges of other jobs.
create view stated_columns as
select c.* from report_columns c
where not exists (select from report_snapshots s where s.job_id = c.job_id and s.report_id = c.report_id and s.at > c.at);

create view stated_foreign_edges as
select d.* from report_foreign_edges d
where not exists (select from report_snapshots s where s.job_id = d.job_id and s.report_id = d.report_id and s.at > d.last_at);

-- True if a report had replaced, by a time, what it last stated before.
create function is_replaced(job uuid, report uuid, stated_at timestamptz, as_of timestamptz) returns boolean
language sql stable as $$
  select exists (select from report_snapshots s where s.job_id = job and s.report_id = report and s.at > stated_at and s.at <= as_of)
$$;

-- State again the edges of these runs' jobs that a snapshot replaced: the last report that still has them counts, and none if none has. Jobs without snapshots, which is
-- nearly all, cost one look each.
create function restate_edges(jobs uuid[], reports uuid[]) returns void
language plpgsql as $$
declare
  snapshot_jobs uuid[] := array(
    select distinct u.job_id from unnest(jobs, reports) u (job_id, report_id)
    where exists (select from report_snapshots s where s.job_id = u.job_id and s.report_id = u.report_id));
begin
  if cardinality(snapshot_jobs) = 0 then return; end if;
  update edges e set last_at = x.at from (
    select d.job_id, d.dataset_id, d.direction,
           max(d.last_at) filter (where not is_replaced(d.job_id, d.report_id, d.last_at, 'infinity')) as at
    from report_datasets d join reports r on r.job_id = d.job_id and r.report_id = d.report_id and not r.declaration
    where d.job_id = any(snapshot_jobs)
    group by 1, 2, 3 having bool_or(is_replaced(d.job_id, d.report_id, d.last_at, 'infinity'))) x
  where e.dataset_id = x.dataset_id and e.job_id = x.job_id and e.direction = x.direction and e.last_at is distinct from x.at;
  update foreign_edges e set last_at = x.at from (
    select d.job_id, d.dataset_id, d.edge_job_id, d.direction,
           max(d.last_at) filter (where not is_replaced(d.job_id, d.report_id, d.last_at, 'infinity')) as at
    from report_foreign_edges d join reports r on r.job_id = d.job_id and r.report_id = d.report_id and not r.declaration
    where d.job_id = any(snapshot_jobs)
    group by 1, 2, 3, 4 having bool_or(is_replaced(d.job_id, d.report_id, d.last_at, 'infinity'))) x
  where e.dataset_id = x.dataset_id and e.job_id = x.edge_job_id and e.direction = x.direction and e.reporter_id = x.job_id
    and e.last_at is distinct from x.at;
end
$$;

-- An edge is intermittent by what the settled reports state, not by what their snapshots replaced.
create or replace function settle_jobs(jobs uuid[]) returns void
language sql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
  with settled as materialized (
    select s.id, f.ids, f.at from unnest($1) as s (id) cross join lateral (
      select array_agg(x.report_id order by x.first_at desc, x.report_id) as ids, max(x.first_at) as at from settled_reports(s.id, 'infinity') x) f
  ), moved as (
    update jobs j set settled = s.ids, settled_at = s.at from settled s
    where j.id = s.id and (j.settled, j.settled_at) is distinct from (s.ids, s.at)
  ), intermittent as materialized (
    select s.id, h.dataset_id, h.direction from settled s
    cross join lateral (
      select d.dataset_id, d.direction from unnest(s.ids) with ordinality o (report_id, place)
      cross join lateral (
        select dataset_id, direction from report_datasets r where r.job_id = s.id and r.report_id = o.report_id
          and not exists (select from report_snapshots x where x.job_id = s.id and x.report_id = o.report_id and x.at > r.last_at offset 0) offset 0) d
      group by d.dataset_id, d.direction
      having intermittent(count(*), min(o.place), max(o.place), cardinality(s.ids))) h
    where cardinality(s.ids) >= 4
  ), flagged as materialized (
    select s.id, e.dataset_id, e.direction from settled s
    cross join lateral (select dataset_id, direction from edges where job_id = s.id and intermittent offset 0) e
  ), differing as (
    (select * from intermittent except select * from flagged) union all (select * from flagged except select * from intermittent)
  )
  update edges e set intermittent = not e.intermittent from differing d
  where (e.dataset_id, e.job_id, e.direction) >= (d.dataset_id, d.id, d.direction) and (e.dataset_id, e.job_id, e.direction) <= (d.dataset_id, d.id, d.direction)
$$;

-- Without sets that a snapshot replaced.
create or replace function live_column_sets(jobs uuid[], targets uuid[])
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
      select b.report_id, b.set_id, b.origin, b.at from stated_columns b
      where b.job_id = a.job_id and b.target_id = a.target_id and b.at >= coalesce(j.settled_at, '-infinity')
      union
      select b.report_id, b.set_id, b.origin, b.at from stated_columns b
      where b.job_id = a.job_id and b.target_id = a.target_id and b.report_id = any(j.settled || d.report_id)) c
    where c.report_id = d.report_id or not exists (select from reports r where r.job_id = a.job_id and r.report_id = c.report_id and r.declaration)
  )
  select told.job_id, told.target_id, told.set_id, told.origin, bool_or(told.fresh) from told where told.precedence = 1
  group by told.job_id, told.target_id, told.set_id, told.origin
  having bool_or(told.fresh) or intermittent(count(distinct told.place), min(told.place), max(told.place), max(told.settled))
$$;

create or replace function past_column_sets(jobs uuid[], targets uuid[], as_of timestamptz)
returns table (job_id uuid, target_id uuid, set_id uuid, origin smallint, fresh boolean)
language sql stable as $$
  with live as (
    select * from live_reports((select array_agg(distinct j) from unnest(jobs) j), as_of)
  ), told as (
    select c.job_id, c.target_id, c.set_id, c.origin, c.at >= l.since as fresh, l.place, l.settled,
           rank() over (partition by c.job_id, c.report_id, c.target_id order by c.origin) as precedence
    from live l join report_columns c on c.job_id = l.job_id and c.report_id = l.report_id and not is_replaced(c.job_id, c.report_id, c.at, as_of)
    where (c.job_id, c.target_id) in (select * from unnest(jobs, targets))
  )
  select told.job_id, told.target_id, told.set_id, told.origin, bool_or(told.fresh) from told where told.precedence = 1
  group by told.job_id, told.target_id, told.set_id, told.origin
  having bool_or(told.fresh) or intermittent(count(distinct told.place), min(told.place), max(told.place), max(told.settled))
$$;
