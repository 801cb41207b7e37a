-- name: days :many
-- The quality of parsed statements, a row for each day, warehouse and dialect, the latest day first.
select j.namespace, q.*
from lineage_quality q join jobs j on j.id = q.job_id
where not j.hidden and (%(namespace)s::text is null or j.namespace = %(namespace)s) and (%(dialect)s::text is null or q.dialect = %(dialect)s)
  and (%(since)s::date is null or q.day >= %(since)s) and (%(until)s::date is null or q.day < %(until)s)
order by q.day desc, j.namespace, q.dialect limit %(limit)s
