-- Settling jobs took a third of PostgreSQL's time for a batch of events (docs/decisions/068).
-- The newest ten of a job's last fifty reports that are of complete runs and have outputs; if none has, the newest ten of complete runs. Reports are looked at
-- until ten are found.
create or replace function settled_reports(job uuid, as_of timestamptz) returns table (report_id uuid, first_at timestamptz)
language sql stable as $$
  with latest as not materialized (
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

-- Settle these jobs: their newest complete reports, and which of their edges those have now and then. Few edges are intermittent, so that only those are
-- compared with the flags.
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
      cross join lateral (select dataset_id, direction from report_datasets where job_id = s.id and report_id = o.report_id offset 0) d
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
