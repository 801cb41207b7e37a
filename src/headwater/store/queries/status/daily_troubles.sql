-- name: daily_troubles :many
-- The number of troubles of each kind by the span between these times in which they came; the first span is 1.
select 'failed', width_bucket(event_time, %(times)b::timestamptz[]), count(distinct run_id) from events
where event_type in ('FAIL', 'ABORT') and run_id is not null
  and event_time >= (%(times)b::timestamptz[])[1] and event_time < (%(times)b::timestamptz[])[cardinality(%(times)b::timestamptz[])] group by 2
union all
select 'doubted', width_bucket(at, %(times)b::timestamptz[]), count(*) from checks
where result = 2 and at >= (%(times)b::timestamptz[])[1] and at < (%(times)b::timestamptz[])[cardinality(%(times)b::timestamptz[])] group by 2
union all
select 'wrong', width_bucket(opened_at, %(times)b::timestamptz[]), count(*) from incidents
where opened_at >= (%(times)b::timestamptz[])[1] and opened_at < (%(times)b::timestamptz[])[cardinality(%(times)b::timestamptz[])] group by 2
union all
select 'policy', width_bucket(since, %(times)b::timestamptz[]), count(*) from policy_violations
where since >= (%(times)b::timestamptz[])[1] and since < (%(times)b::timestamptz[])[cardinality(%(times)b::timestamptz[])] group by 2
