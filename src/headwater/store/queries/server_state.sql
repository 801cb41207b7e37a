-- name: read :one
-- What server processes remember, and whether the projections have to be made again.
select generation, identity::text, rebuild_needed, identity_behind, log_dropped_before from server_state

-- name: begin_writing :exec
-- Waits for a rebuild to end; fails with HW001 when the generation is not the one remembered.
select begin_writing(%(generation)s)

-- name: set_identity :one
-- New rules about names. Everybody who remembers the old ones has to look again.
update server_state set identity_behind = identity_behind or identity <> %(identity)s::jsonb, identity = %(identity)s::jsonb, generation = generation + 1
returning generation

-- name: next_generation :one
-- Everybody who remembers something has to look again.
update server_state set generation = generation + 1 returning generation

-- name: rebuilt :exec
-- The projections are as the log says, under these rules about names.
update server_state set rebuild_needed = false, identity_behind = identity <> %(identity)s::jsonb, generation = generation + 1
