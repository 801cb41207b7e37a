-- name: askers :many
-- The executions of these jobs by their query log, and who ran them with which tools: job, executions, last time, actors and tools as JSON.
select job_id, executions, last_at, actors::text, tools::text from query_counts where job_id = any(%(jobs)b::uuid[]) and not deleted

-- name: last_runs :many
-- The beginning of the latest run of each of these jobs.
select j.id, r.at from unnest(%(jobs)b::uuid[]) j (id)
cross join lateral (select coalesce(started_at, first_event_at) as at from runs where job_id = j.id order by first_event_at desc limit 1) r
