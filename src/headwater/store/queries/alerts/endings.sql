-- name: good_runs :many
-- The ends of the first good runs of these jobs that began after a failure.
select k.id, min(coalesce(r.ended_at, r.last_event_at)) from unnest(%(ids)b::uuid[], %(nodes)b::uuid[], %(sinces)b::timestamptz[]) as k (id, node, since)
join runs f on f.job_id = k.node and f.state in (4, 5) and coalesce(f.ended_at, f.last_event_at) = k.since
join runs r on r.job_id = k.node and r.state = 3 and r.first_event_at > f.first_event_at
group by k.id

-- name: updates :many
-- The first good writes of these datasets, under any of their names, after a time.
select k.id, min(v.written_at) from unnest(%(ids)b::uuid[], %(nodes)b::uuid[], %(sinces)b::timestamptz[]) as k (id, node, since)
cross join lateral (select k.node as id union select dataset_id from dataset_canonical where canonical_id = k.node) m
join dataset_versions v on v.dataset_id = m.id and v.written_at > k.since left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
where coalesce(r.state, 3) = 3 and coalesce(v.lifecycle, '') <> 'DROP' group by k.id

-- name: passed_checks :many
-- The first passes of checks of these datasets or jobs that had failed at a time.
select k.id, min(p.at) from unnest(%(ids)b::uuid[], %(nodes)b::uuid[], %(sinces)b::timestamptz[]) as k (id, node, since)
cross join lateral (select k.node as id union select dataset_id from dataset_canonical where canonical_id = k.node) m
join checks f on f.dataset_id = m.id and f.at = k.since and f.result = 2
join checks p on p.dataset_id = m.id and p.name = f.name and p.field = f.field and p.at > f.at and p.result < 2
group by k.id

-- name: closed_verdicts :many
-- The times at which verdicts that were opened at a time were closed.
select k.id, max(i.closed_at) from unnest(%(ids)b::uuid[], %(sinces)b::timestamptz[]) as k (id, since)
join incidents i on i.opened_at = k.since where i.closed_at is not null group by k.id

-- name: ended_violations :many
-- The times at which violations that began at a time ended.
select k.id, min(v.until) from unnest(%(ids)b::uuid[], %(nodes)b::uuid[], %(sinces)b::timestamptz[]) as k (id, node, since)
join policy_violations v on v.dataset = k.node and v.since = k.since where v.until is not null group by k.id

-- name: heard_again :many
-- The first events of producers after a time.
select k.id, min(e.event_time) from unnest(%(ids)b::uuid[], %(producers)b::text[], %(sinces)b::timestamptz[]) as k (id, producer, since)
join events e on e.producer = k.producer and e.event_time > k.since and e.received_at > k.since group by k.id
