-- name: schema :one
-- The schema that the tables are in.
select current_schema()

-- name: unshadowed :many
-- Tables and views of the schema that no temporary view stands before, with their columns as expressions without a value.
select c.relname, (
  select string_agg(format('null::%%s as %%I', format_type(a.atttypid, a.atttypmod), a.attname), ', ' order by a.attnum)
  from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
from pg_class c
where c.relnamespace = %(schema)s::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
  and not exists (select from pg_class t where t.relnamespace = pg_my_temp_schema() and t.relname = c.relname)

-- name: apply :exec
-- Set what the temporary views show, until the transaction ends.
select set_config('headwater.namespaces', (%(namespaces)s::text[])::text, true), set_config('headwater.tags', (%(tags)s::text[])::text, true)
