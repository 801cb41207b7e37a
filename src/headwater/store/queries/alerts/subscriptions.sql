-- name: store :one
-- Keep a subscription, in place of the one that this person has to the same.
insert into subscriptions (owner, selector, events, address) values (%(owner)s, %(selector)s, %(events)s, %(address)s)
on conflict (owner, selector) do update set events = excluded.events, address = excluded.address, since = clock_timestamp()
returning owner, selector, events, address, since

-- name: remove :maybe
-- Remove a subscription.
delete from subscriptions where owner = %(owner)s and selector = %(selector)s returning owner, selector, events, address, since

-- name: all :many
-- Subscriptions of one person, or of everyone; with the address of the saved view that one is to, the person's own before everyone's.
select s.owner, s.selector, s.events, s.address, s.since, v.address from subscriptions s
left join lateral (
  select v.address from views v where s.selector = 'view:' || v.name and v.owner in ('', s.owner) order by v.owner desc limit 1
) v on true
where %(owner)s::text is null or s.owner = %(owner)s order by s.owner, s.selector
