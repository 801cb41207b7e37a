-- The views and materialized views that stand. Redshift does not say since when.
SELECT definition, getdate() AS defined_at, current_database() AS database, schemaname AS schema, viewname AS name, 'VIEW' AS kind, viewowner AS owner
FROM pg_views
WHERE schemaname NOT IN ('information_schema', 'pg_catalog', 'pg_internal')
