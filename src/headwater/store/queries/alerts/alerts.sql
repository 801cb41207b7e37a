-- name: claim :maybe
-- Claim the next look at what happened, if none was within so many seconds: up to where the last one saw, and measurements. A look in the future was
-- before the database's clock was set back.
update alert_state set looked_at = clock_timestamp()
where looked_at < clock_timestamp() - make_interval(secs => %(seconds)s) or looked_at > clock_timestamp() + interval '1 minute' returning seen_until, measured_until

-- name: seen :exec
-- Note up to where was seen, and what went wrong; a time that is null stays.
update alert_state set seen_until = greatest(seen_until, coalesce(%(seen)s, seen_until)), measured_until = greatest(measured_until, coalesce(%(measured)s, measured_until)),
  trouble = %(trouble)s

-- name: state :one
-- Up to where was seen, and what went wrong.
select looked_at, seen_until, trouble from alert_state

-- name: known :many
-- The troubles told that began since a time.
select id, event, subject, since from alert_members where since >= %(since)s

-- name: add :exec
-- Keep an alert that is new.
insert into alerts (id, event, subject, label, node, since, until, text, look, unaddressed)
values (%(id)s, %(event)s, %(subject)s, %(label)s, %(node)s, %(since)s, %(until)s, %(text)s, %(look)s, %(unaddressed)b::text[])
on conflict (id) do update set unaddressed = (select array_agg(distinct u order by u) from unnest(alerts.unaddressed || excluded.unaddressed) u)
where not alerts.unaddressed @> excluded.unaddressed

-- name: add_members :many
-- Keep the troubles of an alert that no alert has yet; those that are new.
insert into alert_members (id, alert_id, event, subject, label, node, since, until, text, look, rules)
select m.id, %(alert)s::uuid, m.event, m.subject, m.label, m.node, m.since, m.until, m.text, m.look, string_to_array(m.rules, e'\n')
from unnest(%(ids)b::uuid[], %(events)b::text[], %(subjects)b::text[], %(labels)b::text[], %(nodes)b::uuid[], %(sinces)b::timestamptz[],
            %(untils)b::timestamptz[], %(texts)b::text[], %(looks)b::text[], %(rules)b::text[])
  as m (id, event, subject, label, node, since, until, text, look, rules)
on conflict (id) do nothing returning id

-- name: add_messages :many
-- Plan the messages of an alert that are not planned yet.
insert into alert_messages (id, alert_id, rule, stage, address, severity, due_at)
select m.id, %(alert)s::uuid, m.rule, m.stage, m.address, m.severity, m.due_at
from unnest(%(ids)b::uuid[], %(rules)b::text[], %(stages)b::int4[], %(addresses)b::text[], %(severities)b::text[], %(dues)b::timestamptz[])
  as m (id, rule, stage, address, severity, due_at)
on conflict (id) do nothing returning id

-- name: open_members :many
-- The troubles that last, as far as is known, and the causes of others that no rule watches.
select m.id, m.event, m.subject, m.node, m.since from alert_members m where m.until is null and m.event = any(%(events)b::text[])
union
select a.id, a.event, a.subject, a.node, a.since from alerts a where a.until is null and a.event = any(%(events)b::text[])
order by since desc limit %(limit)s

-- name: end :exec
-- Note that troubles ended.
with ended as (select * from unnest(%(ids)b::uuid[], %(untils)b::timestamptz[]) as u (id, until)),
members as (update alert_members m set until = e.until from ended e where m.id = e.id and m.until is null)
update alerts a set until = e.until from ended e where a.id = e.id and a.until is null

-- name: page :many
-- Alerts, the latest first, with how many there are: those that are open (neither over nor acknowledged), or all.
select a.id, a.event, a.subject, a.label, a.since, a.until, a.text, a.look, a.decided_at, a.unaddressed, a.acknowledged_at, a.acknowledged_by, a.note,
       a.muted_until, a.muted_by, count(*) over ()
from alerts a
where (not %(open)s or (a.until is null and a.acknowledged_at is null and (a.event = any(%(lasting)b::text[])
       or a.decided_at > clock_timestamp() - interval '1 day')))
  and (%(subject)s::text is null or a.subject = %(subject)s or exists (select from alert_members m where m.alert_id = a.id and m.subject = %(subject)s))
  and (%(since)s::timestamptz is null or a.decided_at >= %(since)s)
order by a.decided_at desc, a.id limit %(limit)s offset %(offset)s

-- name: named :many
-- Alerts by their ids, or by the beginning of the text of one.
select a.id, a.event, a.subject, a.label, a.since, a.until, a.text, a.look, a.decided_at, a.unaddressed, a.acknowledged_at, a.acknowledged_by, a.note,
       a.muted_until, a.muted_by, 1::bigint
from alerts a where a.id::text like %(prefix)s || '%%' order by a.id limit 2

-- name: members :many
-- The troubles of these alerts, in the order in which they began.
select alert_id, id, event, subject, label, since, until, text, look, rules from alert_members where alert_id = any(%(ids)b::uuid[]) order by since, label, id

-- name: messages :many
-- The messages of these alerts.
select alert_id, id, rule, stage, address, severity, due_at, state, attempts, sent_at, last_error from alert_messages
where alert_id = any(%(ids)b::uuid[]) order by stage, address, id

-- name: acknowledge :exec
-- Note that a person looks after an alert; escalations that wait are dropped.
with acknowledged as (
  update alerts set acknowledged_at = clock_timestamp(), acknowledged_by = %(by)s, note = %(note)s where id = %(id)s and acknowledged_at is null returning id)
update alert_messages m set state = 'dropped' from acknowledged a where m.alert_id = a.id and m.stage > 0 and m.state = 'waiting'

-- name: mute :exec
-- Send nothing about an alert until a time; null: send again.
update alerts set muted_until = %(until)s, muted_by = %(by)s where id = %(id)s
