-- name: append :exec
-- One change, or one that was refused.
insert into audit (actor, role, method, path, action, target, status, detail)
values (%(actor)s, %(role)s, %(method)s, %(path)s, %(action)s, %(target)s, %(status)s, %(detail)s::jsonb)

-- name: page :many
-- Changes that match, the latest first; every filter may be null.
select id, at, actor, role, method, path, action, target, status, detail::text from audit
where (%(actor)s::text is null or actor = %(actor)s) and (%(target)s::text is null or target = %(target)s)
  and (%(since)s::timestamptz is null or at >= %(since)s) and (%(until)s::timestamptz is null or at < %(until)s)
order by at desc, id desc
limit %(limit)s offset %(offset)s

-- name: count :one
-- The number of changes that match.
select count(*) from audit
where (%(actor)s::text is null or actor = %(actor)s) and (%(target)s::text is null or target = %(target)s)
  and (%(since)s::timestamptz is null or at >= %(since)s) and (%(until)s::timestamptz is null or at < %(until)s)
