-- The views, materialized views, snapshots and clones that stand in the region.
SELECT ddl AS definition, creation_time AS defined_at, table_catalog AS database, table_schema AS schema, table_name AS name, table_type AS kind
FROM `region-{region}`.INFORMATION_SCHEMA.TABLES
WHERE table_type IN ('VIEW', 'MATERIALIZED VIEW', 'SNAPSHOT', 'CLONE')
