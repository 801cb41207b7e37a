-- The materialized views that stand in every catalog. Trino does not say since when.
SELECT definition, current_timestamp AS defined_at, catalog_name AS "database", schema_name AS "schema", name, 'MATERIALIZED VIEW' AS kind
FROM system.metadata.materialized_views
