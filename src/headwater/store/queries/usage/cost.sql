-- name: of_datasets :many
-- The costs of datasets, each under all its names.
with merged as (
  select coalesce(c.canonical_id, s.owner) as id, max(s.at) as at, sum(s.executions)::int8 as executions, sum(s.money) as money,
         sum(s.bytes_billed)::int8 as bytes_billed, sum(s.slot_ms) as slot_ms, sum(s.duration_ms) as duration_ms, sum(s.credits) as credits,
         sum(s.share) as share, sum(s.keep_month) as keep_month
  from costs s left join dataset_canonical c on c.dataset_id = s.owner where not s.deleted and s.grain = 'table' group by 1
)
select d.namespace, d.name, m.at, m.executions, m.money, m.bytes_billed, m.slot_ms, m.duration_ms, m.credits, m.share, m.keep_month, null::timestamptz as last_at, null::text as recurrence,
       count(*) over () as total_rows, sum(m.executions) over ()::int8 as total_executions, sum(m.money) over () as total_money, sum(m.bytes_billed) over ()::int8 as total_bytes_billed, sum(m.slot_ms) over () as total_slot_ms,
       sum(m.duration_ms) over () as total_duration_ms, sum(m.credits) over () as total_credits, sum(m.keep_month) over () as total_keep_month, max(m.at) over () as total_at
from merged m join datasets d on d.id = m.id
where not d.hidden and (%(id)s::uuid is null or d.id = %(id)s) and (%(namespace)s::text is null or d.namespace = %(namespace)s)
order by case %(sort)s when 'name' then null when 'executions' then m.executions when 'bytes_billed' then m.bytes_billed when 'slot_ms' then m.slot_ms
         when 'duration_ms' then m.duration_ms when 'credits' then m.credits when 'share' then m.share when 'keep_month' then m.keep_month else m.money end * %(sign)s::int nulls last,
         m.share desc nulls last, d.namespace, d.name
limit %(limit)s offset %(offset)s

-- name: of_jobs :many
-- The costs of query shapes, tasks or models; of shapes those alone that a tool, or a kind of actor, ran.
select j.namespace, j.name, m.at, m.executions, m.money, m.bytes_billed, m.slot_ms, m.duration_ms, m.credits, m.share, null::float8 as keep_month, q.last_at, r.class as recurrence,
       count(*) over () as total_rows, sum(m.executions) over ()::int8 as total_executions, sum(m.money) over () as total_money, sum(m.bytes_billed) over ()::int8 as total_bytes_billed, sum(m.slot_ms) over () as total_slot_ms,
       sum(m.duration_ms) over () as total_duration_ms, sum(m.credits) over () as total_credits, null::float8 as total_keep_month, max(m.at) over () as total_at
from costs m join jobs j on j.id = m.owner left join query_counts q on q.job_id = m.owner and not q.deleted
left join recurrence r on r.job_id = m.owner and not r.deleted
where not m.deleted and m.grain = %(grain)s and not j.hidden and (%(id)s::uuid is null or j.id = %(id)s)
  and (%(namespace)s::text is null or j.namespace = %(namespace)s)
  and (%(tool)s::text is null or exists (select from jsonb_array_elements(q.tools) e where e ->> 'tool' = %(tool)s))
  and (%(kind)s::text is null or exists (select from jsonb_array_elements(q.actors) e where coalesce(e ->> 'kind', 'unknown') = %(kind)s))
order by case %(sort)s when 'name' then null when 'executions' then m.executions when 'bytes_billed' then m.bytes_billed when 'slot_ms' then m.slot_ms
         when 'duration_ms' then m.duration_ms when 'credits' then m.credits when 'share' then m.share else m.money end * %(sign)s::int nulls last,
         m.share desc nulls last, j.namespace, j.name
limit %(limit)s offset %(offset)s

-- name: of_drivers :many
-- The cost of users or tools: those reported of each warehouse's log.
select j.namespace, m.key as name, s.at, m.executions, m.money, m.bytes_billed, m.slot_ms, m.duration_ms, m.credits, m.share, null::float8 as keep_month, null::timestamptz as last_at, null::text as recurrence,
       count(*) over () as total_rows, sum(m.executions) over ()::int8 as total_executions, sum(m.money) over () as total_money, sum(m.bytes_billed) over ()::int8 as total_bytes_billed, sum(m.slot_ms) over () as total_slot_ms,
       sum(m.duration_ms) over () as total_duration_ms, sum(m.credits) over () as total_credits, null::float8 as total_keep_month, max(s.at) over () as total_at
from costs s join jobs j on j.id = s.owner
cross join lateral (
  select e ->> 'grain' as grain, e ->> 'key' as key, coalesce((e ->> 'executions')::int8, 0) as executions, (e ->> 'money')::float8 as money,
         (e ->> 'bytesBilled')::int8 as bytes_billed, (e ->> 'slotMs')::float8 as slot_ms, (e ->> 'durationMs')::float8 as duration_ms,
         (e ->> 'credits')::float8 as credits, (e ->> 'share')::float8 as share
  from jsonb_array_elements(s.drivers) e) m
where not s.deleted and m.grain = %(grain)s and not j.hidden and (%(namespace)s::text is null or j.namespace = %(namespace)s)
  and (%(tool)s::text is null or m.key = %(tool)s)
order by case %(sort)s when 'name' then null when 'executions' then m.executions when 'bytes_billed' then m.bytes_billed when 'slot_ms' then m.slot_ms
         when 'duration_ms' then m.duration_ms when 'credits' then m.credits when 'share' then m.share else m.money end * %(sign)s::int nulls last,
         m.share desc nulls last, j.namespace, m.key
limit %(limit)s offset %(offset)s

-- name: left_out :one
-- The number of users and tools left out, the cheapest of too many.
select coalesce(sum(s.hidden_drivers), 0)::int8 from costs s join jobs j on j.id = s.owner
where not s.deleted and not j.hidden and (%(namespace)s::text is null or j.namespace = %(namespace)s)

-- name: written :many
-- Datasets that jobs, or jobs that are parts of them, write now, by the ids that stand for all their names: the job's namespace and name, the dataset.
select distinct w.namespace, w.name, coalesce(c.canonical_id, e.dataset_id)
from unnest(%(namespaces)s::text[], %(names)s::text[]) as w (namespace, name)
join jobs t on t.namespace = w.namespace and t.name = w.name
join jobs j on j.id = t.id or j.parent_id = t.id
join live_edges e on e.job_id = j.id and e.direction = 'out'
left join dataset_canonical c on c.dataset_id = e.dataset_id
