-- name: has_log :one
-- Whether there is a log: the table of events, in the first schema of the connection's search path.
select to_regclass('events') is not null

-- name: has_projections :one
-- Whether anything was projected.
select exists (select from datasets) or exists (select from jobs)
