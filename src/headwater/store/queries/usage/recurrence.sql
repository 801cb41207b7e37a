-- name: page :many
-- The recurrence of query shapes: whether they run again and again, and whether their runs came.
select j.namespace, j.name, r.*
from recurrence r join jobs j on j.id = r.job_id
where not r.deleted and not j.hidden and (%(id)s::uuid is null or j.id = %(id)s) and (%(namespace)s::text is null or j.namespace = %(namespace)s)
  and (%(classes)b::text[] is null or r.class = any(%(classes)b::text[])) and (not %(missing)s::bool or r.missing > 0)
order by case %(sort)s when 'name' then null when 'unexpected' then r.unexpected when 'executions' then r.executions when 'period' then r.period_seconds
         when 'expected_next' then extract(epoch from r.expected_next_at) when 'last' then extract(epoch from r.last_at)
         when 'confidence' then r.confidence else r.missing end * %(sign)s::int nulls last,
         case %(sort)s when 'name' then null else r.executions end desc nulls last, j.namespace, j.name
limit %(limit)s offset %(offset)s

-- name: totals :many
-- The same shapes by class: how many, their executions, missing and unexpected runs.
select r.class, count(*), sum(r.executions)::int8, sum(r.missing)::int8, sum(r.unexpected)::int8, max(r.at)
from recurrence r join jobs j on j.id = r.job_id
where not r.deleted and not j.hidden and (%(id)s::uuid is null or j.id = %(id)s) and (%(namespace)s::text is null or j.namespace = %(namespace)s)
  and (%(classes)b::text[] is null or r.class = any(%(classes)b::text[])) and (not %(missing)s::bool or r.missing > 0)
group by r.class order by 1
