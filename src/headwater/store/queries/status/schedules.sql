-- name: made_by :many
-- The entities whose instances the latest good runs of these jobs made: job, entity.
select distinct j.id, v.entity_id from unnest(%(jobs)b::uuid[]) j (id)
cross join lateral (select run_id from runs where job_id = j.id and state = 3 order by first_event_at desc limit %(most)s) r
join instance_versions v on v.run = r.run_id::text and v.run <> ''

-- name: makers :many
-- The jobs whose runs made the last instances of these entities: entity, job.
select distinct e.id, r.job_id from unnest(%(entities)b::int4[]) e (id)
cross join lateral (select run from instance_versions where entity_id = e.id order by end_ desc, seq desc limit %(most)s) v
join runs r on r.run_id = case when v.run ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then v.run::uuid end
