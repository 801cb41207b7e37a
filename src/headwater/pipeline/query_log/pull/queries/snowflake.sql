-- Queries that ended in the window.
SELECT q.query_id, q.query_text, q.start_time, q.end_time, q.database_name, q.schema_name, q.query_type, q.session_id, q.user_name,
       q.role_name, q.warehouse_name, q.query_tag, q.execution_status, q.error_code, q.error_message, q.total_elapsed_time,
       q.queued_provisioning_time, q.queued_repair_time, q.queued_overload_time, q.bytes_scanned, q.bytes_written
       , q.rows_inserted, q.rows_updated
       , s.client_application_id -- with sessions
       , c.credits_attributed_compute, c.credits_used_query_acceleration -- with credits
FROM snowflake.account_usage.query_history q
LEFT JOIN snowflake.account_usage.sessions s ON s.session_id = q.session_id -- with sessions
LEFT JOIN snowflake.account_usage.query_attribution_history c ON c.query_id = q.query_id -- with credits
WHERE q.end_time >= %(since)s::TIMESTAMP_TZ AND q.end_time < %(until)s::TIMESTAMP_TZ
  AND q.start_time >= %(earliest)s::TIMESTAMP_TZ AND q.start_time < %(until)s::TIMESTAMP_TZ
