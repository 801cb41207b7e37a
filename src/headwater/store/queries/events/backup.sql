-- name: has_log :one
-- True if there is a log: the table of events, in the first schema of the connection's search path.
select to_regclass('events') is not null

-- name: has_projections :one
-- True if anything was projected.
select exists (select from datasets) or exists (select from jobs)
