-- name: page :many
-- Datasets that may go, and how they are used; one that has another name under which it is read stays. Of several names the last wave counts.
with logged as (
  select distinct on (coalesce(c.canonical_id, p.dataset_id)) coalesce(c.canonical_id, p.dataset_id) as id, p.at, p.wave, p.reason,
         sum(p.money_month) over (partition by coalesce(c.canonical_id, p.dataset_id)) as money_month, p.evidence,
         min(p.confidence) over (partition by coalesce(c.canonical_id, p.dataset_id)) as confidence
  from pruning p left join dataset_canonical c on c.dataset_id = p.dataset_id where not p.deleted
  order by coalesce(c.canonical_id, p.dataset_id), p.wave desc, p.dataset_id
), merged as (
  select l.id, l.at, coalesce(v.wave, l.wave) as wave, l.reason, l.money_month, l.evidence, l.confidence
  from logged l left join unnest(%(moved)b::uuid[], %(waves)b::int8[]) v (id, wave) on v.id = l.id
), used as (
  select coalesce(c.canonical_id, u.dataset_id) as id, sum(u.reads)::int8 as reads, sum(u.writes)::int8 as writes, max(u.last_read_at) as last_read_at,
         max(u.last_read_by_person_at) as last_read_by_person_at, max(u.last_written_at) as last_written_at,
         bool_or(u.status = 'active' and p.dataset_id is null) as alive
  from usage u left join dataset_canonical c on c.dataset_id = u.dataset_id left join pruning p on p.dataset_id = u.dataset_id and not p.deleted
  where not u.deleted group by 1
)
select d.namespace, d.name, m.*, coalesce(u.reads, 0) as reads, coalesce(u.writes, 0) as writes, u.last_read_at, u.last_read_by_person_at,
       u.last_written_at
from merged m join datasets d on d.id = m.id left join used u on u.id = m.id
where not d.hidden and not coalesce(u.alive, false) and d.id <> all(%(used)b::uuid[]) and (%(namespace)s::text is null or d.namespace = %(namespace)s)
  and (%(last_wave)s::int8 is null or m.wave <= %(last_wave)s) and m.confidence >= %(confidence)s::float8
order by case %(sort)s when 'wave' then m.wave when 'money_month' then m.money_month when 'confidence' then m.confidence
         when 'last_read' then extract(epoch from u.last_read_at)::float8 else null end * %(sign)s::int nulls last, m.wave, m.money_month desc nulls last, d.namespace, d.name
limit %(limit)s offset %(offset)s

-- name: waves :many
-- The same datasets by wave: how many, and the saving a month.
with logged as (
  select coalesce(c.canonical_id, p.dataset_id) as id, max(p.at) as at, max(p.wave) as wave, sum(p.money_month) as money_month, min(p.confidence) as confidence
  from pruning p left join dataset_canonical c on c.dataset_id = p.dataset_id where not p.deleted group by 1
), merged as (
  select l.id, l.at, coalesce(v.wave, l.wave) as wave, l.money_month, l.confidence
  from logged l left join unnest(%(moved)b::uuid[], %(waves)b::int8[]) v (id, wave) on v.id = l.id
), used as (
  select coalesce(c.canonical_id, u.dataset_id) as id, bool_or(u.status = 'active' and p.dataset_id is null) as alive
  from usage u left join dataset_canonical c on c.dataset_id = u.dataset_id left join pruning p on p.dataset_id = u.dataset_id and not p.deleted
  where not u.deleted group by 1
)
select m.wave, count(*), sum(m.money_month), max(m.at)
from merged m join datasets d on d.id = m.id left join used u on u.id = m.id
where not d.hidden and not coalesce(u.alive, false) and d.id <> all(%(used)b::uuid[]) and (%(namespace)s::text is null or d.namespace = %(namespace)s)
  and (%(last_wave)s::int8 is null or m.wave <= %(last_wave)s) and m.confidence >= %(confidence)s::float8
group by m.wave order by m.wave

-- name: candidates :many
-- Datasets that the query log alone would advise to remove, by the ids that stand for all their names: id, namespace, name, wave.
with merged as (
  select coalesce(c.canonical_id, p.dataset_id) as id, max(p.wave) as wave
  from pruning p left join dataset_canonical c on c.dataset_id = p.dataset_id where not p.deleted group by 1
)
select d.id, d.namespace, d.name, m.wave from merged m join datasets d on d.id = m.id where not d.hidden

-- name: readers :many
-- Live edges by which jobs read these datasets (under any of their names), but for jobs whose statements the query log judged itself: its query
-- shapes, and the tasks and models that ran them. Dataset, job, whether a person drew it, the last use, the job's namespace and name.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
), logged as (
  select job_id as id from query_counts where not deleted
  union select j.parent_id from query_counts q join jobs j on j.id = q.job_id where not q.deleted and j.parent_id is not null
)
select m.node, e.job_id, bool_or(e.manual), max(e.last_at), j.namespace, j.name
from member m join live_edges e on e.dataset_id = m.id and e.direction = 'in' left join jobs j on j.id = e.job_id
where e.dataset_id = any(array(select id from member)) and (e.manual or not exists (select from logged l where l.id = e.job_id)) and not coalesce(j.hidden, false)
group by m.node, e.job_id, j.namespace, j.name
order by m.node, max(e.last_at) desc, e.job_id

-- name: feeding :many
-- Pairs of these datasets of which a job now reads the one and writes the other.
with member as (
  select i as node, i as id from unnest(%(ids)b::uuid[]) i
  union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b)
)
select distinct r.node, w.node from member r join live_edges i on i.dataset_id = r.id and i.direction = 'in'
join live_edges o on o.job_id = i.job_id and o.direction = 'out' join member w on w.id = o.dataset_id
where i.dataset_id = any(array(select id from member)) and o.dataset_id = any(array(select id from member)) and r.node <> w.node order by 1, 2

-- name: reported :many
-- The last report about instances of each of these entities: name, time.
select e.name, r.recorded_at from entities e
cross join lateral (select recorded_at from status_reports s where s.entity_id = e.id order by s.seq desc limit 1) r
where e.name = any(%(entities)s::text[])
