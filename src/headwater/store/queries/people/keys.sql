-- name: insert :maybe
-- Keep a new key's digest; no row when a key that is not revoked has the name.
insert into api_keys (id, name, role, digest, created_by, expires_at, limits)
values (%(id)s, %(name)s, %(role)s, %(digest)s, %(created_by)s, %(expires_at)s, %(limits)s)
on conflict (name) where revoked_at is null do nothing
returning id, name, role, digest, created_at, created_by, last_used_at, expires_at, revoked_at, limits

-- name: find :maybe
-- The key with this id, revoked or not.
select id, name, role, digest, created_at, created_by, last_used_at, expires_at, revoked_at, limits from api_keys where id = %(id)s

-- name: all :many
-- Every key there ever was, the latest first.
select id, name, role, digest, created_at, created_by, last_used_at, expires_at, revoked_at, limits from api_keys
order by created_at desc, id

-- name: revoke :maybe
-- Revoke the key with this id or name, once.
update api_keys set revoked_at = clock_timestamp()
where revoked_at is null and (id = %(key)s or name = %(key)s)
returning id, name, role, digest, created_at, created_by, last_used_at, expires_at, revoked_at, limits

-- name: touch :exec
-- Remember that the key was used, at most once a minute however many servers ask.
update api_keys set last_used_at = clock_timestamp()
where id = %(id)s and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')

-- name: any_live :one
-- True if any key would be accepted now.
select exists (select from api_keys where revoked_at is null and (expires_at is null or expires_at > clock_timestamp()))
