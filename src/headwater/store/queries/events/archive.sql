-- name: numbered :many
-- Events after a place in the order of arrival and up to a number: so many, and so many bytes but for the first.
select arrived, event_time, received_at, digest, kind, event_type, run_id, producer, body from (
  select *, sum(octet_length(body)) over (order by arrived, event_time, digest) - octet_length(body) as before
  from (select * from events
        where arrived >= %(arrived)s and arrived <= %(upto)s
          and (arrived, event_time, digest) > (%(arrived)s::bigint, %(event_time)s::timestamptz, %(digest)b::bytea)
        order by arrived, event_time, digest limit %(limit)s) x) y
where before < %(bytes)s order by arrived, event_time, digest

-- name: unnumbered :many
-- Events from before arrivals had numbers, in order of identity after one: so many, and so many bytes but for the first.
select 0, event_time, received_at, digest, kind, event_type, run_id, producer, body from (
  select *, sum(octet_length(body)) over (order by event_time, digest) - octet_length(body) as before
  from (select * from events
        where arrived is null and (event_time, digest) > (%(event_time)s::timestamptz, %(digest)b::bytea)
        order by event_time, digest limit %(limit)s) x) y
where before < %(bytes)s order by event_time, digest
