-- name: position :one
-- The last number of arrival that was drawn, and what else an answer about the present depends on.
select (select last_value - (not is_called)::int from arrivals), s.generation, s.parsed_sql from server_state s

-- name: arrived :many
-- Events with a number of arrival after this one, up to a limit.
select arrived, event_time, digest from events where arrived > %(after)s limit %(limit)s

-- name: changed :many
-- Changes of these kinds with a number of arrival after this one.
select arrived, kind from latest_changes where arrived > %(after)s and kind = any(%(kinds)s)

-- name: bodies :many
-- These events as they were received.
select e.event_time, e.digest, e.body from unnest(%(times)b::timestamptz[], %(digests)b::bytea[]) u (at, digest)
join events e on e.event_time = u.at and e.digest = u.digest

-- name: affected_jobs :many
-- The jobs whose live edges may differ since something was reported of these: their parents and children, and those that they report edges of.
select parent_id from jobs where id = any(%(jobs)b) and parent_id is not null
union select id from jobs where parent_id = any(%(jobs)b)
union select edge_job_id from report_foreign_edges where job_id = any(%(jobs)b)

-- name: affected_datasets :many
-- The datasets of which these runs wrote versions: which versions count depends on the runs above them.
select distinct dataset_id from dataset_versions where run_id = any(%(runs)b)

-- name: canonical :many
-- The dataset that stands for each of these that is linked to others, itself too.
select dataset_id, canonical_id from dataset_canonical where dataset_id = any(%(datasets)b)
