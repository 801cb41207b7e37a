-- What people say, made findable: a change by the dataset or job it is about, annotations by the ids that answers use.

-- `node`: the target without its column; `other`: the far end of an edge, or the other name of an alias.
alter table changes add column node text not null default '', add column other text not null default '';
drop index changes_by_target;
create index changes_by_target on changes (target, at);
create index changes_by_node on changes (node, at);
create index changes_by_other on changes (other, at) where other <> '';

-- `owner`: the id of the dataset or job; null for namespaces, sources and tags. `field`: a column of it, or empty.
alter table annotations add column owner uuid, add column field text not null default '';
create index annotations_by_owner on annotations (owner) where owner is not null;
create index annotations_of_things on annotations (target) where owner is null;

-- Every time a person drew or removed an edge: an edge holds at a time when the latest of them by then drew it. `set_id`: its columns.
create table edge_changes (
  job_id     uuid        not null,
  dataset_id uuid        not null,
  direction  text        not null,
  change_id  uuid        not null,
  at         timestamptz not null,
  drawn      boolean     not null,
  set_id     uuid,
  primary key (job_id, dataset_id, direction, change_id)
);
create index edge_changes_by_dataset on edge_changes (dataset_id);

-- Edges people had drawn at a time.
create function manual_edges(datasets uuid[], jobs uuid[], as_of timestamptz)
returns table (dataset_id uuid, job_id uuid, direction text, at timestamptz, set_id uuid) language sql stable as $$
  select l.dataset_id, l.job_id, l.direction, l.at, l.set_id from (
    select distinct on (c.job_id, c.dataset_id, c.direction) c.* from edge_changes c
    where (c.dataset_id = any(datasets) or c.job_id = any(jobs)) and c.at <= as_of
    order by c.job_id, c.dataset_id, c.direction, c.at desc, c.change_id desc) l
  where l.drawn
$$;

-- As before; and `manual` says that nothing but a person's word keeps the edge alive. Only a person's edge has no report's time.
create or replace view live_edges as
select e.dataset_id, e.job_id, e.direction, e.first_at, coalesce(greatest(e.last_at, e.declared_at), e.first_at) as last_at, e.declared,
       case when e.manual then not coalesce(e.last_at >= coalesce(j.horizon, '-infinity')
         or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)), false)
       else false end as manual,
       coalesce(j.explicit_at is not null, j.id is null) as explicit
from edges e left join jobs j on j.id = e.job_id
where (e.manual or e.last_at >= coalesce(j.horizon, '-infinity')
       or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration)))
  and (e.manual or not e.declared or not exists (
    select 1 from jobs child join edges seen on seen.job_id = child.id
    where child.parent_id = e.job_id and seen.dataset_id = e.dataset_id and seen.direction = e.direction));
