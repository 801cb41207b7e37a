-- The tables and paths that Unity Catalog saw read and written by the statements that ended in the window.
SELECT to_json(struct(l.statement_id, l.source_table_full_name, l.source_path, l.target_table_full_name, l.target_path)) AS record
FROM system.access.table_lineage l
JOIN system.query.history h ON h.statement_id = l.statement_id
WHERE h.end_time >= :since AND h.end_time < :until AND h.start_time >= :earliest
  AND h.execution_status IN ('FINISHED', 'FAILED', 'CANCELED') AND l.event_time >= :earliest
