-- name: upsert_datasets :many
-- Datasets spoken of; the ids of those never heard of before.
insert into datasets as t (id, namespace, name, first_seen, last_seen)
select id, min(namespace), min(name), min(at), max(at)
from unnest(%(id)b::uuid[], %(namespace)b::text[], %(name)b::text[], %(at)b::timestamptz[]) as u (id, namespace, name, at)
group by id order by id
on conflict (id) do update set first_seen = least(t.first_seen, excluded.first_seen), last_seen = greatest(t.last_seen, excluded.last_seen)
where excluded.first_seen < t.first_seen or excluded.last_seen > t.last_seen
returning id, xmax = 0

-- name: upsert_jobs :many
-- Jobs spoken of; a parent is told by the latest event that has one.
insert into jobs as t (id, namespace, name, first_seen, last_seen, parent_id, parent_at, parent_digest)
select id, min(namespace), min(name), min(at), max(at),
       (array_agg(parent_id order by at desc, digest desc) filter (where parent_id is not null))[1],
       (array_agg(at order by at desc, digest desc) filter (where parent_id is not null))[1],
       (array_agg(digest order by at desc, digest desc) filter (where parent_id is not null))[1]
from unnest(%(id)b::uuid[], %(namespace)b::text[], %(name)b::text[], %(at)b::timestamptz[], %(digest)b::bytea[], %(parent_id)b::uuid[])
     as u (id, namespace, name, at, digest, parent_id)
group by id order by id
on conflict (id) do update set
  first_seen = least(t.first_seen, excluded.first_seen),
  last_seen = greatest(t.last_seen, excluded.last_seen),
  (parent_id, parent_at, parent_digest) = (
    select e.parent_id, e.parent_at, e.parent_digest
    from (values (excluded.parent_id, excluded.parent_at, excluded.parent_digest), (t.parent_id, t.parent_at, t.parent_digest)) e (parent_id, parent_at, parent_digest)
    order by e.parent_at desc nulls last, e.parent_digest desc nulls last limit 1)
returning id, xmax = 0

-- name: upsert_runs :many
-- Runs spoken of: the state of highest rank, the earliest start, the latest end, the latest told parent.
insert into runs as t (run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, parent_run_id, parent_job_id, parent_at, parent_digest)
select run_id, job_id, min(external_id), max(state), min(at), max(at), min(started_at), max(ended_at),
       (array_agg(parent_run_id order by at desc, digest desc) filter (where parent_run_id is not null))[1],
       (array_agg(parent_job_id order by at desc, digest desc) filter (where parent_run_id is not null))[1],
       (array_agg(at order by at desc, digest desc) filter (where parent_run_id is not null))[1],
       (array_agg(digest order by at desc, digest desc) filter (where parent_run_id is not null))[1]
from unnest(%(run_id)b::uuid[], %(job_id)b::uuid[], %(external_id)b::text[], %(state)b::int2[], %(at)b::timestamptz[], %(digest)b::bytea[],
            %(started_at)b::timestamptz[], %(ended_at)b::timestamptz[], %(parent_run_id)b::uuid[], %(parent_job_id)b::uuid[])
     as u (run_id, job_id, external_id, state, at, digest, started_at, ended_at, parent_run_id, parent_job_id)
group by run_id, job_id order by run_id, job_id
on conflict (run_id, job_id) do update set
  external_id = least(t.external_id, excluded.external_id),
  state = greatest(t.state, excluded.state),
  first_event_at = least(t.first_event_at, excluded.first_event_at),
  last_event_at = greatest(t.last_event_at, excluded.last_event_at),
  started_at = least(t.started_at, excluded.started_at),
  ended_at = greatest(t.ended_at, excluded.ended_at),
  (parent_run_id, parent_job_id, parent_at, parent_digest) = (
    select e.run_id, e.job_id, e.at, e.digest
    from (values (excluded.parent_run_id, excluded.parent_job_id, excluded.parent_at, excluded.parent_digest),
                 (t.parent_run_id, t.parent_job_id, t.parent_at, t.parent_digest)) e (run_id, job_id, at, digest)
    order by e.at desc nulls last, e.digest desc nulls last limit 1)
returning run_id, xmax = 0

-- name: upsert_reports :exec
-- Runs and declarations that told inputs or outputs.
insert into reports as t (job_id, report_id, declaration, first_at)
select job_id, report_id, bool_and(declaration), min(at)
from unnest(%(job_id)b::uuid[], %(report_id)b::uuid[], %(declaration)b::bool[], %(at)b::timestamptz[]) as u (job_id, report_id, declaration, at)
group by job_id, report_id order by job_id, report_id
on conflict (job_id, report_id) do update set first_at = excluded.first_at where excluded.first_at < t.first_at

-- name: upsert_report_datasets :exec
-- Inputs and outputs of a report: the union over its events; observed once is observed.
insert into report_datasets as t (job_id, report_id, dataset_id, direction, declared, first_at, last_at)
select job_id, report_id, dataset_id, direction, bool_and(declared), min(at), max(at)
from unnest(%(job_id)b::uuid[], %(report_id)b::uuid[], %(dataset_id)b::uuid[], %(direction)b::text[], %(declared)b::bool[], %(at)b::timestamptz[])
     as u (job_id, report_id, dataset_id, direction, declared, at)
group by job_id, report_id, dataset_id, direction order by job_id, report_id, dataset_id, direction
on conflict (job_id, report_id, dataset_id, direction) do update set
  declared = t.declared and excluded.declared, first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at)

-- name: upsert_edges :exec
-- Every (dataset, job, direction) ever reported.
insert into edges as t (dataset_id, job_id, direction, first_at, last_at)
select dataset_id, job_id, direction, min(at), max(at)
from unnest(%(dataset_id)b::uuid[], %(job_id)b::uuid[], %(direction)b::text[], %(at)b::timestamptz[]) as u (dataset_id, job_id, direction, at)
group by dataset_id, job_id, direction order by dataset_id, job_id, direction
on conflict (dataset_id, job_id, direction) do update set first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at)

-- name: upsert_dataset_versions :exec
-- What runs left behind.
insert into dataset_versions as t (id, dataset_id, run_id, job_id, external_version, declared, first_at, written_at)
select id, min(dataset_id::text)::uuid, min(run_id::text)::uuid, min(job_id::text)::uuid, min(external_version), bool_and(declared), min(at), max(at)
from unnest(%(id)b::uuid[], %(dataset_id)b::uuid[], %(run_id)b::uuid[], %(job_id)b::uuid[], %(external_version)b::text[], %(declared)b::bool[], %(at)b::timestamptz[])
     as u (id, dataset_id, run_id, job_id, external_version, declared, at)
group by id order by id
on conflict (id) do update set declared = t.declared and excluded.declared,
  first_at = least(t.first_at, excluded.first_at), written_at = greatest(t.written_at, excluded.written_at)

-- name: insert_facet_bodies :exec
-- Bodies are content: the same body is kept once.
insert into facet_bodies (id, body)
select distinct on (id) id, body from unnest(%(id)b::uuid[], %(body)b::bytea[]) as u (id, body) order by id
on conflict do nothing

-- name: insert_schema_fields :exec
-- The columns of schema bodies.
insert into schema_fields (body_id, position, name, type, description)
select distinct on (body_id, position) body_id, position, name, type, description
from unnest(%(body_id)b::uuid[], %(position)b::int[], %(name)b::text[], %(type)b::text[], %(description)b::text[]) as u (body_id, position, name, type, description)
order by body_id, position
on conflict do nothing

-- name: upsert_facets :exec
-- A facet replaces the earlier facet of that name whole; ties of event time go to the greater digest.
insert into facets as t (owner, name, at, digest, body_id, deleted)
select distinct on (owner, name) owner, name, at, digest, body_id, deleted
from unnest(%(owner)b::uuid[], %(name)b::text[], %(at)b::timestamptz[], %(digest)b::bytea[], %(body_id)b::uuid[], %(deleted)b::bool[])
     as u (owner, name, at, digest, body_id, deleted)
order by owner, name, at desc, digest desc, body_id desc
on conflict (owner, name) do update set at = excluded.at, digest = excluded.digest, body_id = excluded.body_id, deleted = excluded.deleted
where (excluded.at, excluded.digest, excluded.body_id) > (t.at, t.digest, t.body_id)

-- name: insert_column_edges :exec
-- Sets of column edges are content: the same set is kept once.
insert into column_edges (set_id, position, target_field, source_id, source_field, type, subtype, masking, description)
select distinct on (set_id, position) set_id, position, target_field, source_id, source_field, type, subtype, masking, description
from unnest(%(set_id)b::uuid[], %(position)b::int[], %(target_field)b::text[], %(source_id)b::uuid[], %(source_field)b::text[],
            %(type)b::text[], %(subtype)b::text[], %(masking)b::bool[], %(description)b::text[])
     as u (set_id, position, target_field, source_id, source_field, type, subtype, masking, description)
order by set_id, position
on conflict do nothing

-- name: upsert_report_columns :exec
-- Which set of column edges a report has for a target; the latest wins within its slot.
insert into report_columns as t (job_id, report_id, target_id, origin, slot, at, digest, set_id)
select distinct on (job_id, report_id, target_id, origin, slot) job_id, report_id, target_id, origin, slot, at, digest, set_id
from unnest(%(job_id)b::uuid[], %(report_id)b::uuid[], %(target_id)b::uuid[], %(origin)b::int2[], %(slot)b::uuid[],
            %(at)b::timestamptz[], %(digest)b::bytea[], %(set_id)b::uuid[])
     as u (job_id, report_id, target_id, origin, slot, at, digest, set_id)
order by job_id, report_id, target_id, origin, slot, at desc, digest desc, set_id desc
on conflict (job_id, report_id, target_id, origin, slot) do update set at = excluded.at, digest = excluded.digest, set_id = excluded.set_id
where (excluded.at, excluded.digest, excluded.set_id) > (t.at, t.digest, t.set_id)
