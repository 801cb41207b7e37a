-- `explicit` was false for a dataset that declares its own lineage, for it has no row in `jobs`.
create or replace view live_edges as
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at) as last_at, e.declared,
       case when e.manual then not coalesce(e.last_at >= coalesce(j.horizon, '-infinity')
         or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)), false)
       else false end as manual,
       (j.explicit_at is not null or j.id is null) as explicit
from edges e left join jobs j on j.id = e.job_id
where (e.manual or e.last_at >= coalesce(j.horizon, '-infinity')
       or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)))
  and (e.manual or not e.declared or not exists (
    select 1 from jobs child join edges seen on seen.job_id = child.id
    where child.parent_id = e.job_id and seen.dataset_id = e.dataset_id and seen.direction = e.direction));

-- Column lineage in the log may read datasets that have no edge yet. Where months of the log were dropped, a rebuild would lose what they reported.
update server_state set rebuild_needed = rebuild_needed or (log_dropped_before is null and exists (select 1 from events));
