-- name: due :one
-- A lease of more than an hour, or a repetition that is due later, was written before the database's clock was set back: no setting allows it.
-- True if a message is to be sent or dropped. An update of no row would tell pages of a change, too.
select exists (select from alert_messages w join alerts a on a.id = w.alert_id
  where w.state = 'waiting' and (w.due_at <= clock_timestamp() or (w.last_error is not null and w.due_at > clock_timestamp() + interval '1 hour'))
    and (w.lease_until is null or w.lease_until not between clock_timestamp() and clock_timestamp() + interval '1 hour')
    and (a.muted_until is null or a.muted_until <= clock_timestamp()) and (%(mail)s or w.address like 'channel:%%'))

-- name: drop_needless :exec
-- Escalations of what is over or acknowledged are needed no more.
update alert_messages m set state = 'dropped' from alerts a
where a.id = m.alert_id and m.state = 'waiting' and m.stage > 0 and m.due_at <= clock_timestamp() and (a.until is not null or a.acknowledged_at is not null)

-- name: lease :many
-- Take messages that are due, for so many seconds; those of alerts that are muted wait.
update alert_messages m set lease_owner = %(owner)s, lease_until = clock_timestamp() + make_interval(secs => %(seconds)s), attempts = attempts + 1
where m.id in (
  select w.id from alert_messages w join alerts a on a.id = w.alert_id
  where w.state = 'waiting' and (w.due_at <= clock_timestamp() or (w.last_error is not null and w.due_at > clock_timestamp() + interval '1 hour'))
    and (w.lease_until is null or w.lease_until not between clock_timestamp() and clock_timestamp() + interval '1 hour')
    and (a.muted_until is null or a.muted_until <= clock_timestamp()) and (%(mail)s or w.address like 'channel:%%')
  order by w.due_at, w.id limit %(limit)s for update of w skip locked)
returning m.id, m.alert_id, m.rule, m.stage, m.address, m.severity, m.attempts, m.body::text

-- name: set_body :one
-- Keep what is sent, the first time that it is made; the text that holds.
update alert_messages set body = coalesce(body, %(body)s::jsonb) where id = %(id)s returning body::text

-- name: sent :exec
-- The receiver took it.
update alert_messages set state = 'sent', sent_at = clock_timestamp(), last_error = null, lease_owner = null, lease_until = null
where id = %(id)s and lease_owner = %(owner)s and state = 'waiting'

-- name: failed :exec
-- It was not sent: try again later, or never.
update alert_messages set state = case when %(refused)s then 'refused' else state end, last_error = %(error)s, lease_owner = null, lease_until = null,
  due_at = case when %(refused)s then due_at else clock_timestamp() + make_interval(secs => %(seconds)s) end
where id = %(id)s and lease_owner = %(owner)s and state = 'waiting'

-- name: counts :many
-- The messages by state, and how many of those that wait failed before.
select state, count(*), count(*) filter (where last_error is not null) from alert_messages group by state
