-- The tables that the steps of those queries scanned, filled or emptied.
SELECT DISTINCT d.query_id, d.step_name, d.table_name
FROM sys_query_detail d
WHERE d.step_name IN ('scan', 'insert', 'delete', 'merge') AND d.table_id > 0 AND position('.' in d.table_name) > 0
  AND d.query_id IN (
    SELECT h.query_id
    FROM sys_query_history h
    WHERE h.end_time >= %s AND h.end_time < %s AND h.start_time >= %s
      AND h.status NOT IN ('planning', 'queued', 'queueing', 'running', 'returning')
)
