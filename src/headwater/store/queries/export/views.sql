-- name: mark :one
-- The digest of the text that made the schema; null where there is no such schema.
select obj_description(to_regnamespace('lineage'), 'pg_namespace')

-- name: columns :many
-- The columns of the views, with what they are.
select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), coalesce(col_description(c.oid, a.attnum), '')
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'lineage'::regnamespace and c.relkind = 'v' order by c.oid, a.attnum
