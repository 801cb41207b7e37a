-- name: hours :many
-- The beginnings of the last 24 hours, the one that runs included, and the end of the last.
select date_trunc('hour', now()) - make_interval(hours => 23 - n) from generate_series(0, 24) n order by 1

-- name: days :many
-- The beginnings of the last seven days of a time zone, today included, and the end of the last.
select (date_trunc('day', now() at time zone %(timezone)s) - make_interval(days => 6 - n)) at time zone %(timezone)s from generate_series(0, 7) n order by 1

-- name: lineage_events :many
-- Run events by type in each span between these times.
select width_bucket(event_time, %(times)b::timestamptz[]), event_type, count(*) from events
where event_time >= (%(times)b::timestamptz[])[1] and event_time < (%(times)b::timestamptz[])[cardinality(%(times)b::timestamptz[])] and run_id is not null
group by 1, 2

-- name: jobs :many
-- Jobs by the span between these times in which they were first reported; 0 is before all.
select width_bucket(first_seen, %(times)b::timestamptz[]), count(*) from jobs where not hidden group by 1

-- name: datasets :many
-- Datasets by the span between these times in which they were first reported; 0 is before all.
select width_bucket(first_seen, %(times)b::timestamptz[]), count(*) from datasets d
where not hidden and not exists (select 1 from dataset_canonical c where c.dataset_id = d.id and c.canonical_id <> d.id) group by 1

-- name: sources :many
-- Data sources by the span between these times in which they were first reported; 0 is before all.
select width_bucket(first_seen, %(times)b::timestamptz[]), count(*) from (
  select name, min(first_seen) as first_seen from (
    select name, first_seen from sources union all select 'default', min(first_seen) from datasets having count(*) > 0) s group by name) s group by 1
