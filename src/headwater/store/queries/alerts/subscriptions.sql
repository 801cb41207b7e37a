-- name: store :one
-- Keep a subscription, in place of the one that this person has to the same.
insert into subscriptions (owner, selector, events, address) values (%(owner)s, %(selector)s, %(events)s, %(address)s)
on conflict (owner, selector) do update set events = excluded.events, address = excluded.address, since = clock_timestamp()
returning owner, selector, events, address, since

-- name: remove :maybe
-- Remove a subscription.
delete from subscriptions where owner = %(owner)s and selector = %(selector)s returning owner, selector, events, address, since

-- name: all :many
-- Subscriptions of one person, or of everyone.
select owner, selector, events, address, since from subscriptions where %(owner)s::text is null or owner = %(owner)s order by owner, selector
