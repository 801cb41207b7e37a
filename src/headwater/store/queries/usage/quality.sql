-- name: days :many
-- How well statements were understood, a row for each day, warehouse and dialect, the latest day first.
select q.day, j.namespace, q.dialect, q.at, q.shapes, q.full_shapes, q.partial_shapes, q.tables_shapes, q.nothing_shapes, q.idle_shapes, q.executions, q.full_executions,
       q.partial_executions, q.tables_executions, q.nothing_executions, q.idle_executions, q.textless_executions, q.unresolved, q.quarantined, q.quarantined_by, q.told_executions, q.told_agreed,
       q.told_only, q.parsed_only
from lineage_quality q join jobs j on j.id = q.job_id
where not j.hidden and (%(namespace)s::text is null or j.namespace = %(namespace)s) and (%(dialect)s::text is null or q.dialect = %(dialect)s)
  and (%(since)s::date is null or q.day >= %(since)s) and (%(until)s::date is null or q.day < %(until)s)
order by q.day desc, j.namespace, q.dialect limit %(limit)s
