-- name: of_owner :many
-- The views of everyone and those of one person, by name.
select owner, name, address, author, at from views where owner in ('', %(owner)s) order by name, owner

-- name: store :one
-- Save a view under its name, in place of the one that has it.
insert into views (owner, name, address, author) values (%(owner)s, %(name)s, %(address)s, %(author)s)
on conflict (owner, name) do update set address = excluded.address, author = excluded.author, at = clock_timestamp()
returning owner, name, address, author, at

-- name: count :one
-- The number of other views of one owner.
select count(*) from views where owner = %(owner)s and name <> %(name)s

-- name: remove :maybe
-- Remove a view.
delete from views where owner = %(owner)s and name = %(name)s returning owner, name, address, author, at
