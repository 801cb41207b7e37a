-- Queries that ended in the window.
SELECT h.query_id, h.user_id, h.query_label, h.transaction_id, h.session_id, h.database_name, h.query_type, h.status, h.result_cache_hit,
       h.start_time, h.end_time, h.elapsed_time, h.queue_time, h.error_message, h.query_text, h.compute_type, h.service_class_name,
       u.usename AS user_name
FROM sys_query_history h
LEFT JOIN pg_user u ON u.usesysid = h.user_id
WHERE h.end_time >= %s AND h.end_time < %s AND h.start_time >= %s
  AND h.status NOT IN ('planning', 'queued', 'queueing', 'running', 'returning')
