-- The whole texts of those queries, in pieces.
SELECT t.query_id, t.sequence, t.text
FROM sys_query_text t
WHERE t.query_id IN (
    SELECT h.query_id
    FROM sys_query_history h
    WHERE h.end_time >= %s AND h.end_time < %s AND h.start_time >= %s
      AND h.status NOT IN ('planning', 'queued', 'queueing', 'running', 'returning')
)
