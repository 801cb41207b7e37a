-- name: apply :one
-- Add a version of the files of a kind.
insert into applied_rules (kind, files, applied_by) values (%(kind)s, %(files)s::jsonb, %(applied_by)s) returning version, applied_at

-- name: versions :many
-- The versions of a kind, the latest first.
select version, files::text, applied_at, applied_by from applied_rules where kind = %(kind)s order by version desc limit %(limit)s

-- name: version :maybe
-- One version of a kind.
select version, files::text, applied_at, applied_by from applied_rules where kind = %(kind)s and version = %(version)s

-- name: lock :exec
-- Let one person at a time apply files.
select pg_advisory_xact_lock(1751474532, 17)
