-- A job that was deleted connects nothing: its edges are not alive until an event reports it again.
create or replace view live_edges as
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at) as last_at, e.declared,
       case when e.manual then not coalesce(e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
         or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)), false)
       else false end as manual,
       (j.explicit_at is not null or j.id is null) as explicit, e.intermittent
from edges e left join jobs j on j.id = e.job_id
where j.hidden is not true and (e.manual or e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
       or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)))
  and (e.manual or not e.declared or not exists (
    select 1 from jobs child join edges seen on seen.job_id = child.id
    where child.parent_id = e.job_id and seen.dataset_id = e.dataset_id and seen.direction = e.direction))
union all
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at), e.last_at is null, false,
       exists (select from jobs o where o.id = e.job_id and o.explicit_at is not null), now_and_then.yes
from foreign_edges e left join jobs r on r.id = e.reporter_id
cross join lateral (
  select coalesce(intermittent(count(d.report_id), min(o.place), max(o.place), cardinality(r.settled)), false) as yes
  from unnest(r.settled) with ordinality o (report_id, place)
  join report_foreign_edges d on d.job_id = e.reporter_id and d.report_id = o.report_id and d.dataset_id = e.dataset_id and d.edge_job_id = e.job_id
    and d.direction = e.direction) now_and_then
where (now_and_then.yes or e.last_at >= coalesce(r.settled_at, '-infinity')
   or e.declared_at >= coalesce(r.declared_at, (select max(p.first_at) from reports p where p.job_id = e.reporter_id and p.declaration)))
  and not exists (select from jobs o where o.id = e.job_id and o.hidden);
