-- name: writers :many
-- The writers of these items, where known.
select id, dataset_id, run_id, job_id from correlation_items where id = any(%(ids)b::uuid[]) and kind = 'ITEM' and run_id is not null
