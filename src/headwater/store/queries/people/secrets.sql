-- name: propose :exec
-- Keep a secret unless there is one of this name.
insert into server_secrets (name, value) values (%(name)s, %(value)s) on conflict do nothing

-- name: get :one
-- The secret all servers share.
select value from server_secrets where name = %(name)s
