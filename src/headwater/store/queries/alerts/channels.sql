-- name: add :maybe
-- Keep a new channel; no row if the name is taken.
insert into alert_channels (name, kind, url, secret, created_by) values (%(name)s, %(kind)s, %(url)b, %(secret)b, %(created_by)s)
on conflict (name) do nothing returning name

-- name: remove :exec
-- Remove a channel.
delete from alert_channels where name = %(name)s

-- name: all :many
-- Every channel, by name.
select name, kind, url, secret, created_at, created_by, delivered, last_delivery_at, failing_since, failures, last_error from alert_channels order by name

-- name: named :maybe
-- One channel.
select name, kind, url, secret, created_at, created_by, delivered, last_delivery_at, failing_since, failures, last_error from alert_channels where name = %(name)s

-- name: outcome :exec
-- Note the outcome of a delivery.
update alert_channels set delivered = delivered + (%(error)s::text is null)::int, last_error = %(error)s,
  last_delivery_at = case when %(error)s::text is null then clock_timestamp() else last_delivery_at end,
  failing_since = case when %(error)s::text is null then null else coalesce(failing_since, clock_timestamp()) end,
  failures = case when %(error)s::text is null then 0 else failures + 1 end
where name = %(name)s
