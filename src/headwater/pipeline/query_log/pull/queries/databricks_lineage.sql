-- The tables and paths that Unity Catalog saw read and written: by the statements that ended in the window, and by what has no statement in the history.
SELECT to_json(struct(
    l.statement_id, l.source_table_full_name, l.source_path, l.target_table_full_name, l.target_path,
    l.event_id, l.event_time, l.created_by, l.entity_type, l.entity_id, l.entity_run_id
  )) AS record
FROM system.access.table_lineage l
LEFT JOIN system.query.history h ON h.statement_id = l.statement_id AND h.start_time >= :earliest
WHERE l.event_time >= :earliest AND (
  (h.end_time >= :since AND h.end_time < :until AND h.execution_status IN ('FINISHED', 'FAILED', 'CANCELED'))
  OR (h.statement_id IS NULL AND l.event_time >= :since AND l.event_time < :until)
)
