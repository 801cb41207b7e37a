-- The views and tasks that stand.
SELECT v.view_definition AS definition, v.last_ddl AS defined_at, v.table_catalog AS "database", v.table_schema AS "schema",
       v.table_name AS name, 'VIEW' AS kind, v.table_owner AS owner
FROM snowflake.account_usage.views v
WHERE v.deleted IS NULL
UNION ALL
SELECT t.definition, t.graph_version_created_on, t.database_name, t.schema_name, t.name, 'TASK', t.owner
FROM snowflake.account_usage.task_versions t
QUALIFY ROW_NUMBER() OVER (PARTITION BY t.id ORDER BY t.graph_version DESC) = 1
