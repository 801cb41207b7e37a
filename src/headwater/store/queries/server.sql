-- name: about :one
-- The PostgreSQL behind us and the size of our database.
select current_setting('server_version'), pg_database_size(current_database())
