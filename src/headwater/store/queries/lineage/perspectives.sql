-- name: jobs :many
-- Jobs that read and write, with what decides their perspective: whether a query log counted them, their jobType or else any facet, a producer.
with joining as (
  select e.job_id from edges e where not e.manual or e.last_at is not null or e.declared_at is not null
  group by e.job_id having count(distinct e.direction) = 2
)
select j.id, j.namespace, p.name, q.job_id is not null, coalesce(j.explicit_at is not null, false), t.name, t.body, r.producer
from joining g join jobs j on j.id = g.job_id left join jobs p on p.id = j.parent_id left join query_counts q on q.job_id = j.id and not q.deleted
left join lateral (
  select s.name, b.body from owner_facets o join facet_sets s on s.id = o.set_id join facet_bodies b on b.id = s.body_id
  where o.owner = j.id and not s.deleted order by (s.name = 'jobType') desc, o.last_at desc, s.name, s.body_id limit 1) t on true
left join lateral (
  select x.producer from runs u join events x on x.run_id = u.run_id where t.body is null and u.job_id = j.id
  order by u.first_event_at desc, u.run_id, x.event_time desc, x.digest limit 1) r on true
where not j.hidden order by j.id

-- name: steps :many
-- Edges that the log reports (true), and those between namespaces it covers that only other perspectives report (false).
with known as (
  select * from unnest(%(jobs)b::uuid[], %(who)b::text[], %(explicit)b::bool[], %(owned)b::bool[]) as k (job_id, who, explicit, owned)
), alive as (
  select e.job_id, coalesce(c.canonical_id, e.dataset_id) as dataset_id, e.direction, max(greatest(e.last_at, e.declared_at)) as at
  from edges e join known k on k.job_id = e.job_id join jobs j on j.id = e.job_id left join dataset_canonical c on c.dataset_id = e.dataset_id
  where e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
     or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration))
  group by 1, 2, 3
), pairs as (
  select i.dataset_id as source, o.dataset_id as target, k.who, k.owned
  from alive i join alive o on o.job_id = i.job_id and o.direction = 'out' join known k on k.job_id = i.job_id
  where i.direction = 'in' and i.dataset_id <> o.dataset_id and not k.explicit
  union all
  select t.source, t.target, k.who, k.owned
  from unnest(%(told_sources)b::uuid[], %(told_targets)b::uuid[], %(told_jobs)b::uuid[]) as t (source, target, job_id)
  join known k on k.job_id = t.job_id join alive o on o.job_id = t.job_id and o.dataset_id = t.target and o.direction = 'out'
  where t.source <> t.target
), told as (
  select source, target, array_agg(distinct who order by who) as who from pairs group by 1, 2
)
select t.source, t.target, %(log)s = any(t.who) from told t join datasets s on s.id = t.source join datasets d on d.id = t.target
where %(log)s = any(t.who) or (s.namespace = any(%(covered)b::text[]) and d.namespace = any(%(covered)b::text[]))

-- name: page :many
-- Edges from dataset to dataset with their perspectives and disagreement. `told_*`: pairs of jobs with explicit lineage, which is not all with all.
with known as (
  select * from unnest(%(jobs)b::uuid[], %(who)b::text[], %(explicit)b::bool[], %(owned)b::bool[]) as k (job_id, who, explicit, owned)
), alive as (
  select e.job_id, coalesce(c.canonical_id, e.dataset_id) as dataset_id, e.direction, max(greatest(e.last_at, e.declared_at)) as at
  from edges e join known k on k.job_id = e.job_id join jobs j on j.id = e.job_id left join dataset_canonical c on c.dataset_id = e.dataset_id
  where e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
     or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration))
  group by 1, 2, 3
), pairs as (
  select i.dataset_id as source, o.dataset_id as target, i.job_id, k.who, k.owned, least(i.at, o.at) as at
  from alive i join alive o on o.job_id = i.job_id and o.direction = 'out' join known k on k.job_id = i.job_id
  where i.direction = 'in' and i.dataset_id <> o.dataset_id and not k.explicit
  union all
  select t.source, t.target, t.job_id, k.who, k.owned, o.at
  from unnest(%(told_sources)b::uuid[], %(told_targets)b::uuid[], %(told_jobs)b::uuid[]) as t (source, target, job_id)
  join known k on k.job_id = t.job_id join alive o on o.job_id = t.job_id and o.dataset_id = t.target and o.direction = 'out'
  where t.source <> t.target
), told as (
  select source, target, array_agg(distinct who order by who) as who, bool_or(owned) as owned, max(at) as at,
         (array_agg(distinct job_id order by job_id))[1:20] as jobs
  from pairs group by 1, 2
), judged as (
  select s.namespace as source_namespace, s.name as source_name, d.namespace, d.name, t.who, t.jobs, t.at,
         case when t.who = array[%(log)s] then case when t.owned then 'untold_by_its_job' else 'in_no_dag' end
              when %(log)s <> all(t.who) and s.namespace = any(%(covered)b::text[]) and d.namespace = any(%(covered)b::text[])
               and (t.source, t.target) not in (select * from unnest(%(seen_sources)b::uuid[], %(seen_targets)b::uuid[])) then 'never_seen'
         end as disagreement
  from told t join datasets s on s.id = t.source join datasets d on d.id = t.target where not s.hidden and not d.hidden
)
select source_namespace, source_name, namespace, name, who, jobs, at, disagreement from judged
where (%(namespace)s::text is null or %(namespace)s in (source_namespace, namespace)) and (%(perspective)s::text is null or %(perspective)s = any(who))
  and (%(kinds)b::text[] is null or disagreement = any(%(kinds)b::text[]))
order by disagreement nulls last, namespace, name, source_namespace, source_name
limit %(limit)s offset %(offset)s

-- name: totals :many
-- The same edges, counted by perspectives and disagreement.
with known as (
  select * from unnest(%(jobs)b::uuid[], %(who)b::text[], %(explicit)b::bool[], %(owned)b::bool[]) as k (job_id, who, explicit, owned)
), alive as (
  select e.job_id, coalesce(c.canonical_id, e.dataset_id) as dataset_id, e.direction, max(greatest(e.last_at, e.declared_at)) as at
  from edges e join known k on k.job_id = e.job_id join jobs j on j.id = e.job_id left join dataset_canonical c on c.dataset_id = e.dataset_id
  where e.intermittent or e.last_at >= coalesce(j.settled_at, '-infinity')
     or e.declared_at >= coalesce(j.declared_at, (select max(r.first_at) from reports r where r.job_id = e.job_id and r.declaration))
  group by 1, 2, 3
), pairs as (
  select i.dataset_id as source, o.dataset_id as target, k.who, k.owned
  from alive i join alive o on o.job_id = i.job_id and o.direction = 'out' join known k on k.job_id = i.job_id
  where i.direction = 'in' and i.dataset_id <> o.dataset_id and not k.explicit
  union all
  select t.source, t.target, k.who, k.owned
  from unnest(%(told_sources)b::uuid[], %(told_targets)b::uuid[], %(told_jobs)b::uuid[]) as t (source, target, job_id)
  join known k on k.job_id = t.job_id join alive o on o.job_id = t.job_id and o.dataset_id = t.target and o.direction = 'out'
  where t.source <> t.target
), told as (
  select source, target, array_agg(distinct who order by who) as who, bool_or(owned) as owned from pairs group by 1, 2
), judged as (
  select s.namespace as source_namespace, d.namespace, t.who,
         case when t.who = array[%(log)s] then case when t.owned then 'untold_by_its_job' else 'in_no_dag' end
              when %(log)s <> all(t.who) and s.namespace = any(%(covered)b::text[]) and d.namespace = any(%(covered)b::text[])
               and (t.source, t.target) not in (select * from unnest(%(seen_sources)b::uuid[], %(seen_targets)b::uuid[])) then 'never_seen'
         end as disagreement
  from told t join datasets s on s.id = t.source join datasets d on d.id = t.target where not s.hidden and not d.hidden
)
select who, disagreement, count(*) from judged
where (%(namespace)s::text is null or %(namespace)s in (source_namespace, namespace)) and (%(perspective)s::text is null or %(perspective)s = any(who))
group by 1, 2 order by 1, 2
