-- name: append :many
-- Append changes by people. Each has a time after earlier changes of the same target, even if the clock went back.
insert into changes (id, at, author, action, target, node, other, body)
select u.id, greatest(clock_timestamp(), (select max(c.at) + interval '1 microsecond' from changes c where c.target = u.target)),
       u.author, u.action, u.target, u.node, u.other, u.body
from unnest(%(id)b::uuid[], %(author)b::text[], %(action)b::text[], %(target)b::text[], %(node)b::text[], %(other)b::text[], %(body)b::jsonb[])
     as u (id, author, action, target, node, other, body)
returning id, at

-- name: page_after :many
-- People's changes, a page at a time: for replay, where order does not matter.
select id, at, author, body::text from changes
where (at, id) > (%(at)s::timestamptz, %(id)s::uuid) order by at, id limit %(limit)s

-- name: search :many
-- Changes by people, the latest first; of a target, its columns, and changes that name it as their other end.
select id, at, author, action, target, body::text, count(*) over () from changes
where (%(target)s::text is null or target = %(target)s or node = %(target)s or other = %(target)s)
  and (%(author)s::text is null or author = %(author)s) and (%(action)s::text is null or action = %(action)s)
  and at >= %(since)s and at < %(until)s
order by at desc, id desc limit %(limit)s offset %(offset)s
