-- Statements that ended in the window, each as one JSON text: then it does not matter how the client gives structs, maps and times.
SELECT to_json(struct(
           statement_id, workspace_id, executed_by, executed_as, session_id, execution_status, compute, statement_text, statement_type,
           error_message, client_application, client_driver, total_duration_ms, waiting_for_compute_duration_ms,
           waiting_at_capacity_duration_ms, total_task_duration_ms, start_time, end_time, read_rows, read_bytes, written_rows,
           written_bytes, from_result_cache, query_source, query_tags
       )) AS record
FROM system.query.history
WHERE end_time >= :since AND end_time < :until AND start_time >= :earliest
  AND execution_status IN ('FINISHED', 'FAILED', 'CANCELED')
