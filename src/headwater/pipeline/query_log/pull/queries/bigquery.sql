-- Jobs that ended in the window. The view is partitioned by creation_time.
SELECT job_id, project_id, creation_time, start_time, end_time, user_email, query, state, job_type, statement_type, cache_hit,
       TO_JSON_STRING(destination_table) AS destination_table, TO_JSON_STRING(referenced_tables) AS referenced_tables,
       TO_JSON_STRING(labels) AS labels, TO_JSON_STRING(error_result) AS error_result, parent_job_id,
       TO_JSON_STRING(session_info) AS session_info, reservation_id, total_bytes_processed, total_bytes_billed, total_slot_ms,
       TO_JSON_STRING(dml_statistics) AS dml_statistics
FROM `region-{region}`.INFORMATION_SCHEMA.JOBS
WHERE creation_time >= %(earliest)s AND creation_time < %(until)s
  AND end_time >= %(since)s AND end_time < %(until)s AND state = 'DONE'
