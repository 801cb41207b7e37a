-- name: read :one
-- The shared state of server processes, and whether a rebuild of the projections is needed.
select generation, identity::text, rebuild_needed, identity_behind, log_dropped_before, bytes_digests_until from server_state

-- name: begin_writing :exec
-- Waits for a rebuild to end; fails with HW001 when the generation is not the one remembered. It has plans reused for all parameters; here,
-- it makes them look rows up by keys: one that was made while a table was small would read it from end to end for each row of a large event. (Where a
-- plan can do nothing else, it looks dear to older versions of PostgreSQL, which would compile it.)
select begin_writing(%(generation)s), set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)

-- name: set_identity :one
-- New rules about names: processes that cache the old ones must read again.
update server_state set identity_behind = identity_behind or identity <> %(identity)s::jsonb, identity = %(identity)s::jsonb, generation = generation + 1
returning generation

-- name: next_generation :one
-- Processes that cache something must read again.
update server_state set generation = generation + 1 returning generation

-- name: rebuilt :exec
-- The projections are as the log says, under these rules about names.
update server_state set rebuild_needed = false, identity_behind = identity <> %(identity)s::jsonb, generation = generation + 1

-- name: set_parsed_sql :exec
-- Set if edges that are parsed from SQL count.
update server_state set parsed_sql = %(on)s where parsed_sql <> %(on)s
