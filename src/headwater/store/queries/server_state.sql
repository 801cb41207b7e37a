-- name: read :one
-- What server processes remember, and whether the projections have to be made again.
select generation, identity::text, rebuild_needed from server_state

-- name: begin_writing :exec
-- Waits for a rebuild to end; fails with HW001 when the generation is not the one remembered.
select begin_writing(%(generation)s)

-- name: set_identity :one
-- New rules about names. Everybody who remembers the old ones has to look again.
update server_state set identity = %(identity)s::jsonb, generation = generation + 1 returning generation

-- name: next_generation :one
-- Everybody who remembers something has to look again.
update server_state set generation = generation + 1 returning generation

-- name: rebuilt :exec
-- The projections are as the log says.
update server_state set rebuild_needed = false, generation = generation + 1
