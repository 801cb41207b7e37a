-- The tables that Snowflake saw read and written by the queries that ended in the window.
SELECT a.query_id, a.direct_objects_accessed, a.base_objects_accessed, a.objects_modified, a.parent_query_id,
  a.query_start_time, a.user_name
FROM snowflake.account_usage.access_history a
JOIN snowflake.account_usage.query_history q ON q.query_id = a.query_id
WHERE q.end_time >= %(since)s::TIMESTAMP_TZ AND q.end_time < %(until)s::TIMESTAMP_TZ
  AND q.start_time >= %(earliest)s::TIMESTAMP_TZ AND q.start_time < %(until)s::TIMESTAMP_TZ
  AND a.query_start_time >= %(earliest)s::TIMESTAMP_TZ AND a.query_start_time < %(until)s::TIMESTAMP_TZ
