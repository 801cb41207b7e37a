-- The views and materialized views that stand.
SELECT v.view_definition AS definition, COALESCE(t.last_altered, t.created) AS defined_at, v.table_catalog AS database, v.table_schema AS schema,
       v.table_name AS name, t.table_type AS kind, t.table_owner AS owner
FROM system.information_schema.views v
JOIN system.information_schema.tables t
  ON t.table_catalog = v.table_catalog AND t.table_schema = v.table_schema AND t.table_name = v.table_name
