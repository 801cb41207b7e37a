-- name: plain :many
-- Listeners with a secret that is not encrypted.
select id, secret, previous_secret from listeners
where secret is not null and position(%(mark)b::bytea in secret) <> 1 or previous_secret is not null and position(%(mark)b::bytea in previous_secret) <> 1
for update

-- name: replace :exec
-- Encrypted secrets of a listener; what is null stays.
update listeners set secret = coalesce(%(secret)b, secret), previous_secret = coalesce(%(previous)b, previous_secret) where id = %(id)s

-- name: set_key :maybe
-- Record the id of the key; the former id if it was another one.
with former as (select secret_key_id from server_state for update)
update server_state s set secret_key_id = %(key)s from former where s.secret_key_id is distinct from %(key)s returning former.secret_key_id

-- name: key :one
-- The id of the key that encrypts secrets.
select secret_key_id from server_state

-- name: encrypted_listeners :many
-- Encrypted secrets of listeners.
select id, secret, previous_secret from listeners where secret is not null or previous_secret is not null order by id for update

-- name: encrypted_channels :many
-- Encrypted addresses and secrets of channels.
select name, url, secret from alert_channels order by name for update

-- name: replace_channel :exec
-- Encrypted address and secret of a channel.
update alert_channels set url = %(url)b, secret = %(secret)b where name = %(name)s

-- name: encrypted_connectors :many
-- Encrypted secrets of connectors.
select name, secrets from connectors where secrets is not null order by name for update

-- name: replace_connector :exec
-- Encrypted secrets of a connector.
update connectors set secrets = %(secrets)b where name = %(name)s
