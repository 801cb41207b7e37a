-- Queries that ended in the window, of those that the coordinator still remembers.
SELECT query_id, state, "user", source, query, resource_group_id, queued_time_ms, created, started, "end", error_type, error_code
FROM system.runtime.queries
WHERE "end" >= ? AND "end" < ? AND state IN ('FINISHED', 'FAILED')
