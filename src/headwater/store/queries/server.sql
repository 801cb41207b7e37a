-- name: about :one
-- The PostgreSQL behind us and the size of our database.
select current_setting('server_version'), pg_database_size(current_database())

-- name: log_size :one
-- The event log: bytes on disk with its indexes, and how many events PostgreSQL's statistics say it holds.
select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint, coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint
from pg_partition_tree('events') t join pg_class c on c.oid = t.relid where t.isleaf

-- name: migrations :many
-- The migrations that have run, and the Headwater that ran each where it is recorded.
select name, to_jsonb(migrations) ->> 'version' from migrations
