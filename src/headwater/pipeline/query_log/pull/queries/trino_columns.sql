-- The columns of every table of every catalog, in their order.
SELECT table_cat, table_schem, table_name, column_name, type_name, remarks
FROM system.jdbc.columns
WHERE table_schem <> 'information_schema' AND table_cat <> 'system'
ORDER BY table_cat, table_schem, table_name, ordinal_position
LIMIT 2000001
