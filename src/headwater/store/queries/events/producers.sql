-- name: activity :many
-- Events of each producer by kind and type that arrived since a time.
select producer, kind, event_type, count(*), max(received_at) from events where received_at >= %(since)s group by 1, 2, 3

-- name: delays :many
-- The delay between the events' own times and their arrival, in seconds: median, p90, p99 and the longest, by producer.
select producer, percentile_cont(array[0.5, 0.9, 0.99, 1.0]) within group (order by extract(epoch from received_at - event_time))::float8[]
from events where received_at >= %(since)s group by producer

-- name: warnings :many
-- The warnings about events that arrived since a time, by producer, code and day, with an example.
select w.producer, w.code, date_trunc('day', e.received_at), count(*), min(w.message), max(e.received_at)
from events e join warnings w on w.digest = e.digest and w.event_time = e.event_time
where e.received_at >= %(since)s group by 1, 2, 3 order by 1, 2, 3

-- name: events_with_warnings :many
-- The number of events with a warning, of each producer, among those that arrived since a time.
select e.producer, count(*) from events e
where e.received_at >= %(since)s and exists (select 1 from warnings w where w.digest = e.digest and w.event_time = e.event_time) group by 1

-- name: never_ended :many
-- Runs whose START arrived since a time, that never ended and have been silent since another: by producer and job.
with started as materialized (select producer, run_id from events where received_at >= %(since)s and event_type = 'START')
select s.producer, r.job_id, count(distinct s.run_id), min(r.first_event_at)
from started s join runs r on r.run_id = s.run_id where r.state = 2 and r.last_event_at < %(silent_since)s group by 1, 2

-- name: reported_hours :many
-- The hours between two times of which each producer's events report, as seconds since 1970.
select producer, extract(epoch from date_trunc('hour', event_time))::int8 from events
where event_time >= %(since)s and event_time <= %(until)s group by 1, 2
