-- name: insert_facet_bodies :exec
-- Bodies are content: the same body is kept once.
insert into facet_bodies (id, body)
select distinct on (id) id, body from unnest(%(id)b::uuid[], %(body)b::bytea[]) as u (id, body) order by id
on conflict do nothing

-- name: insert_facet_sets :exec
-- Add sets of facets that events reported of an owner together: a set is content.
insert into facet_sets (id, name, body_id, deleted, guess)
select distinct on (id, name) id, name, body_id, deleted, guess
from unnest(%(id)b::uuid[], %(name)b::text[], %(body_id)b::uuid[], %(deleted)b::bool[], %(guess)b::int2[]) as u (id, name, body_id, deleted, guess)
order by id, name
on conflict do nothing

-- name: insert_column_sets :exec
-- Sets of column edges: content.
insert into column_sets (id, edges)
select distinct on (id) id, edges from unnest(%(id)b::uuid[], %(edges)b::bytea[]) as u (id, edges) order by id
on conflict do nothing

-- name: lock_datasets :exec
-- Lock the datasets that will be written and their canonical ones, in one order and before any job: their documents are made under these locks.
select from (
  select id from unnest(%(ids)b::uuid[]) as u (id)
  union
  select c.canonical_id from unnest(%(ids)b::uuid[]) as u (id) cross join lateral (select canonical_id from dataset_canonical where dataset_id = u.id offset 0) c
  order by id) n
cross join lateral (select from datasets d where d.id = n.id for no key update) d

-- name: upsert_datasets :many
-- Add or update datasets; return the ids of the new ones, of those this changed, and of those that are hidden.
with told as (
insert into datasets as t (id, namespace, name, first_seen, last_seen)
select id, min(namespace), min(name), min(at), max(at)
from unnest(%(id)b::uuid[], %(namespace)b::text[], %(name)b::text[], %(at)b::timestamptz[]) as u (id, namespace, name, at)
group by id order by id
on conflict (id) do update set first_seen = least(t.first_seen, excluded.first_seen), last_seen = greatest(t.last_seen, excluded.last_seen)
where excluded.first_seen < t.first_seen or excluded.last_seen > t.last_seen
returning id, xmax = 0 as created, hidden)
select id, created, hidden from told
union select id, false, true from datasets where id = any(%(id)b::uuid[]) and hidden

-- name: upsert_dataset_links :many
-- Add other names of datasets; return the ids on both sides of new links.
insert into dataset_links as t (dataset_id, alias_id, kind, first_at)
select dataset_id, alias_id, kind, min(at)
from unnest(%(dataset_id)b::uuid[], %(alias_id)b::uuid[], %(kind)b::text[], %(at)b::timestamptz[]) as u (dataset_id, alias_id, kind, at)
group by dataset_id, alias_id, kind order by dataset_id, alias_id, kind
on conflict (dataset_id, alias_id, kind) do update set first_at = excluded.first_at where excluded.first_at < t.first_at
returning dataset_id, alias_id

-- name: upsert_jobs :many
-- Reported jobs; the parent is that of the latest event that has one. The same ids as of datasets.
with told as (
insert into jobs as t (id, namespace, name, first_seen, last_seen, declared_at, explicit_at, parent_id, parent_at, parent_digest)
select id, min(namespace), min(name), min(at), max(at), max(declared_at), max(explicit_at),
       (array_agg(parent_id order by at desc, digest desc) filter (where parent_id is not null))[1],
       (array_agg(at order by at desc, digest desc) filter (where parent_id is not null))[1],
       (array_agg(digest order by at desc, digest desc) filter (where parent_id is not null))[1]
from unnest(%(id)b::uuid[], %(namespace)b::text[], %(name)b::text[], %(at)b::timestamptz[], %(digest)b::bytea[], %(parent_id)b::uuid[],
            %(declared_at)b::timestamptz[], %(explicit_at)b::timestamptz[])
     as u (id, namespace, name, at, digest, parent_id, declared_at, explicit_at)
group by id order by id
on conflict (id) do update set
  first_seen = least(t.first_seen, excluded.first_seen),
  last_seen = greatest(t.last_seen, excluded.last_seen),
  declared_at = greatest(t.declared_at, excluded.declared_at),
  explicit_at = greatest(t.explicit_at, excluded.explicit_at),
  (parent_id, parent_at, parent_digest) = (
    select e.parent_id, e.parent_at, e.parent_digest
    from (values (excluded.parent_id, excluded.parent_at, excluded.parent_digest), (t.parent_id, t.parent_at, t.parent_digest)) e (parent_id, parent_at, parent_digest)
    order by e.parent_at desc nulls last, e.parent_digest desc nulls last limit 1)
where excluded.first_seen < t.first_seen or excluded.last_seen > t.last_seen
   or greatest(t.declared_at, excluded.declared_at) is distinct from t.declared_at
   or greatest(t.explicit_at, excluded.explicit_at) is distinct from t.explicit_at
   or excluded.parent_at is not null and (t.parent_at is null or (excluded.parent_at, excluded.parent_digest) > (t.parent_at, t.parent_digest))
returning id, xmax = 0 as created, hidden)
select id, created, hidden from told
union select id, false, true from jobs where id = any(%(id)b::uuid[]) and hidden

-- name: upsert_namespaces :many
-- Add or update namespaces; return those that are hidden.
with told as (
insert into namespaces as t (name, first_seen)
select name, min(at) from unnest(%(name)b::text[], %(at)b::timestamptz[]) as u (name, at) group by name order by name
on conflict (name) do update set first_seen = least(t.first_seen, excluded.first_seen) where excluded.first_seen < t.first_seen)
select name, hidden from namespaces where name = any(%(name)b::text[]) and hidden

-- name: upsert_sources :exec
-- Add or update data sources.
insert into sources as t (name, url, first_seen)
select name, url, min(at) from unnest(%(name)b::text[], %(url)b::text[], %(at)b::timestamptz[]) as u (name, url, at) group by name, url order by name, url
on conflict (name, url) do update set first_seen = excluded.first_seen where excluded.first_seen < t.first_seen

-- name: upsert_runs :many
-- Add or update runs: the state of highest rank, the earliest start, the latest end, the latest reported parent.
insert into runs as t (run_id, job_id, external_id, state, first_event_at, last_event_at, started_at, ended_at, nominal_start, nominal_end, user_name, statement, heartbeat_ms, parent_run_id, parent_job_id, parent_at, parent_digest)
select run_id, job_id, min(external_id), max(state), min(at), max(at), min(started_at), max(ended_at), min(nominal_start), max(nominal_end), min(user_name), max(statement), max(heartbeat_ms),
       (array_agg(parent_run_id order by at desc, digest desc) filter (where parent_run_id is not null))[1],
       (array_agg(parent_job_id order by at desc, digest desc) filter (where parent_run_id is not null))[1],
       (array_agg(at order by at desc, digest desc) filter (where parent_run_id is not null))[1],
       (array_agg(digest order by at desc, digest desc) filter (where parent_run_id is not null))[1]
from unnest(%(run_id)b::uuid[], %(job_id)b::uuid[], %(external_id)b::text[], %(state)b::int2[], %(at)b::timestamptz[], %(digest)b::bytea[],
            %(started_at)b::timestamptz[], %(ended_at)b::timestamptz[], %(parent_run_id)b::uuid[], %(parent_job_id)b::uuid[],
            %(nominal_start)b::timestamptz[], %(nominal_end)b::timestamptz[], %(user_name)b::text[], %(statement)b::text[],
            %(heartbeat_ms)b::int8[])
     as u (run_id, job_id, external_id, state, at, digest, started_at, ended_at, parent_run_id, parent_job_id, nominal_start, nominal_end, user_name, statement, heartbeat_ms)
group by run_id, job_id order by run_id, job_id
on conflict (run_id, job_id) do update set
  external_id = least(t.external_id, excluded.external_id),
  state = greatest(t.state, excluded.state),
  first_event_at = least(t.first_event_at, excluded.first_event_at),
  last_event_at = greatest(t.last_event_at, excluded.last_event_at),
  started_at = least(t.started_at, excluded.started_at),
  ended_at = greatest(t.ended_at, excluded.ended_at),
  nominal_start = least(t.nominal_start, excluded.nominal_start),
  nominal_end = greatest(t.nominal_end, excluded.nominal_end),
  user_name = least(t.user_name, excluded.user_name),
  statement = greatest(t.statement, excluded.statement),
  heartbeat_ms = greatest(t.heartbeat_ms, excluded.heartbeat_ms),
  (parent_run_id, parent_job_id, parent_at, parent_digest) = (
    select e.run_id, e.job_id, e.at, e.digest
    from (values (excluded.parent_run_id, excluded.parent_job_id, excluded.parent_at, excluded.parent_digest),
                 (t.parent_run_id, t.parent_job_id, t.parent_at, t.parent_digest)) e (run_id, job_id, at, digest)
    order by e.at desc nulls last, e.digest desc nulls last limit 1)
where excluded.first_event_at < t.first_event_at or excluded.last_event_at > t.last_event_at or excluded.state > t.state
   or (least(t.external_id, excluded.external_id), least(t.started_at, excluded.started_at), greatest(t.ended_at, excluded.ended_at),
       least(t.nominal_start, excluded.nominal_start), greatest(t.nominal_end, excluded.nominal_end),
       least(t.user_name, excluded.user_name), greatest(t.statement, excluded.statement), greatest(t.heartbeat_ms, excluded.heartbeat_ms))
      is distinct from (t.external_id, t.started_at, t.ended_at, t.nominal_start, t.nominal_end, t.user_name, t.statement, t.heartbeat_ms)
   or excluded.parent_at is not null and (t.parent_at is null or (excluded.parent_at, excluded.parent_digest) > (t.parent_at, t.parent_digest))
returning run_id, xmax = 0

-- name: upsert_reports :exec
-- Add or update reports: runs and declarations with inputs or outputs.
insert into reports as t (job_id, report_id, declaration, first_at)
select job_id, report_id, bool_and(declaration), min(at)
from unnest(%(job_id)b::uuid[], %(report_id)b::uuid[], %(declaration)b::bool[], %(at)b::timestamptz[]) as u (job_id, report_id, declaration, at)
group by job_id, report_id order by job_id, report_id
on conflict (job_id, report_id) do update set first_at = excluded.first_at where excluded.first_at < t.first_at

-- name: insert_report_snapshots :exec
-- Times at which runs stated all of a time window.
insert into report_snapshots (job_id, report_id, at)
select distinct * from unnest(%(job_id)b::uuid[], %(report_id)b::uuid[], %(at)b::timestamptz[]) u order by 1, 2, 3
on conflict do nothing

-- name: upsert_report_datasets :exec
-- Inputs and outputs of a report: the union over its events; observed once is observed.
insert into report_datasets as t (job_id, report_id, dataset_id, direction, declared, first_at, last_at)
select job_id, report_id, dataset_id, direction, bool_and(declared), min(at), max(at)
from unnest(%(job_id)b::uuid[], %(report_id)b::uuid[], %(dataset_id)b::uuid[], %(direction)b::text[], %(declared)b::bool[], %(at)b::timestamptz[])
     as u (job_id, report_id, dataset_id, direction, declared, at)
group by job_id, report_id, dataset_id, direction order by job_id, report_id, dataset_id, direction
on conflict (job_id, report_id, dataset_id, direction) do update set
  declared = t.declared and excluded.declared, first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at)
where excluded.first_at < t.first_at or excluded.last_at > t.last_at or t.declared and not excluded.declared

-- name: upsert_report_subsets :exec
-- Parts of datasets that a report read or wrote.
insert into report_subsets as t (job_id, report_id, dataset_id, direction, part, first_at)
select job_id, report_id, dataset_id, direction, part, min(at)
from unnest(%(job_id)b::uuid[], %(report_id)b::uuid[], %(dataset_id)b::uuid[], %(direction)b::text[], %(part)b::text[], %(at)b::timestamptz[])
     as u (job_id, report_id, dataset_id, direction, part, at)
group by job_id, report_id, dataset_id, direction, part order by job_id, report_id, dataset_id, direction, part
on conflict (job_id, report_id, dataset_id, direction, part) do update set first_at = excluded.first_at where excluded.first_at < t.first_at

-- name: upsert_edges :exec
-- Every (dataset, job, direction) ever reported, and the latest report and declaration that has it.
insert into edges as t (dataset_id, job_id, direction, first_at, last_at, declared_at, declared)
select dataset_id, job_id, direction, min(at), max(at) filter (where not by_event), max(at) filter (where by_event), bool_and(declared)
from unnest(%(dataset_id)b::uuid[], %(job_id)b::uuid[], %(direction)b::text[], %(at)b::timestamptz[], %(declared)b::bool[], %(by_event)b::bool[])
     as u (dataset_id, job_id, direction, at, declared, by_event)
group by dataset_id, job_id, direction order by dataset_id, job_id, direction
on conflict (dataset_id, job_id, direction) do update set first_at = least(t.first_at, excluded.first_at),
  last_at = greatest(t.last_at, excluded.last_at), declared_at = greatest(t.declared_at, excluded.declared_at), declared = t.declared and excluded.declared
where excluded.first_at < t.first_at or greatest(t.last_at, excluded.last_at) is distinct from t.last_at
   or greatest(t.declared_at, excluded.declared_at) is distinct from t.declared_at or t.declared and not excluded.declared

-- name: upsert_report_foreign_edges :exec
-- Edges of other jobs in a report: the union over its events.
insert into report_foreign_edges as t (job_id, report_id, dataset_id, edge_job_id, direction, first_at, last_at)
select job_id, report_id, dataset_id, edge_job_id, direction, min(at), max(at)
from unnest(%(job_id)b::uuid[], %(report_id)b::uuid[], %(dataset_id)b::uuid[], %(edge_job_id)b::uuid[], %(direction)b::text[], %(at)b::timestamptz[])
     as u (job_id, report_id, dataset_id, edge_job_id, direction, at)
group by job_id, report_id, dataset_id, edge_job_id, direction order by job_id, report_id, dataset_id, edge_job_id, direction
on conflict (job_id, report_id, dataset_id, edge_job_id, direction) do update set first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at)
where excluded.first_at < t.first_at or excluded.last_at > t.last_at

-- name: upsert_report_statements :exec
-- Statements below runs of dbt's models: the union over their events.
insert into report_statements as t (job_id, report_id, body_id, first_at, last_at)
select job_id, report_id, body_id, min(at), max(at)
from unnest(%(job_id)b::uuid[], %(report_id)b::uuid[], %(body_id)b::uuid[], %(at)b::timestamptz[]) as u (job_id, report_id, body_id, at)
group by job_id, report_id, body_id order by job_id, report_id, body_id
on conflict (job_id, report_id, body_id) do update set first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at)
where excluded.first_at < t.first_at or excluded.last_at > t.last_at

-- name: statements_of_reports :many
-- Statements below these runs of models whose outputs are known: the model, the outputs, the statement's `sql` facet and its first and last time.
select s.job_id, o.namespaces, o.names, b.body, s.first_at, s.last_at
from unnest(%(jobs)b::uuid[], %(reports)b::uuid[]) as u (job_id, report_id)
join report_statements s using (job_id, report_id)
join facet_bodies b on b.id = s.body_id
cross join lateral (
  select array_agg(d.namespace order by d.id) as namespaces, array_agg(d.name order by d.id) as names
  from report_datasets r join datasets d on d.id = r.dataset_id
  where r.job_id = s.job_id and r.report_id = s.report_id and r.direction = 'out') o
where o.names is not null

-- name: upsert_foreign_edges :exec
-- Every edge that a reporter ever named of another job, and its latest report and declaration that has it.
insert into foreign_edges as t (dataset_id, job_id, direction, reporter_id, first_at, last_at, declared_at)
select dataset_id, job_id, direction, reporter_id, min(at), max(at) filter (where not by_event), max(at) filter (where by_event)
from unnest(%(dataset_id)b::uuid[], %(job_id)b::uuid[], %(direction)b::text[], %(reporter_id)b::uuid[], %(at)b::timestamptz[], %(by_event)b::bool[])
     as u (dataset_id, job_id, direction, reporter_id, at, by_event)
group by dataset_id, job_id, direction, reporter_id order by dataset_id, job_id, direction, reporter_id
on conflict (dataset_id, job_id, direction, reporter_id) do update set first_at = least(t.first_at, excluded.first_at),
  last_at = greatest(t.last_at, excluded.last_at), declared_at = greatest(t.declared_at, excluded.declared_at)
where excluded.first_at < t.first_at or greatest(t.last_at, excluded.last_at) is distinct from t.last_at
   or greatest(t.declared_at, excluded.declared_at) is distinct from t.declared_at

-- name: upsert_dataset_versions :exec
-- Add or update the versions that runs wrote; the schema is the latest reported, counts only grow within a run.
insert into dataset_versions as t (id, dataset_id, run_id, job_id, external_version, declared, first_at, written_at, schema_id, schema_at, schema_digest, lifecycle, rows, bytes, files, checkpoint)
select id, (array_agg(dataset_id))[1], (array_agg(run_id))[1], (array_agg(job_id))[1], min(external_version), bool_and(declared), min(at), max(at),
       (array_agg(schema_id order by at desc, digest desc, schema_id desc) filter (where schema_id is not null))[1],
       (array_agg(at order by at desc, digest desc, schema_id desc) filter (where schema_id is not null))[1],
       (array_agg(digest order by at desc, digest desc, schema_id desc) filter (where schema_id is not null))[1],
       max(lifecycle), max(rows), max(bytes), max(files), bool_or(checkpoint)
from unnest(%(id)b::uuid[], %(dataset_id)b::uuid[], %(run_id)b::uuid[], %(job_id)b::uuid[], %(external_version)b::text[], %(declared)b::bool[], %(at)b::timestamptz[],
            %(digest)b::bytea[], %(schema_id)b::uuid[], %(lifecycle)b::text[], %(rows)b::int8[], %(bytes)b::int8[], %(files)b::int8[],
            %(checkpoint)b::bool[])
     as u (id, dataset_id, run_id, job_id, external_version, declared, at, digest, schema_id, lifecycle, rows, bytes, files, checkpoint)
group by id order by id
on conflict (id) do update set declared = t.declared and excluded.declared, checkpoint = t.checkpoint or excluded.checkpoint,
  first_at = least(t.first_at, excluded.first_at), written_at = greatest(t.written_at, excluded.written_at),
  lifecycle = greatest(t.lifecycle, excluded.lifecycle),
  rows = greatest(t.rows, excluded.rows), bytes = greatest(t.bytes, excluded.bytes), files = greatest(t.files, excluded.files),
  (schema_id, schema_at, schema_digest) = (
    select e.id, e.at, e.digest
    from (values (excluded.schema_id, excluded.schema_at, excluded.schema_digest), (t.schema_id, t.schema_at, t.schema_digest)) e (id, at, digest)
    order by e.at desc nulls last, e.digest desc nulls last, e.id desc nulls last limit 1)
where excluded.first_at < t.first_at or excluded.written_at > t.written_at or t.declared and not excluded.declared or excluded.checkpoint and not t.checkpoint
   or (greatest(t.lifecycle, excluded.lifecycle), greatest(t.rows, excluded.rows), greatest(t.bytes, excluded.bytes), greatest(t.files, excluded.files))
      is distinct from (t.lifecycle, t.rows, t.bytes, t.files)
   or excluded.schema_at is not null
      and (t.schema_at is null or (excluded.schema_at, excluded.schema_digest, excluded.schema_id) > (t.schema_at, t.schema_digest, t.schema_id))

-- name: upsert_checks :exec
-- Results of checks: the latest event wins; where one event has two results of a check, the worse.
insert into checks as t (run_id, job_id, direction, dataset_id, name, field, at, digest, result, detail, version, part)
select distinct on (run_id, job_id, direction, dataset_id, name, field) *
from unnest(%(run_id)b::uuid[], %(job_id)b::uuid[], %(direction)b::text[], %(dataset_id)b::uuid[], %(name)b::text[], %(field)b::text[],
            %(at)b::timestamptz[], %(digest)b::bytea[], %(result)b::int2[], %(detail)b::text[], %(version)b::text[], %(part)b::text[])
     as u (run_id, job_id, direction, dataset_id, name, field, at, digest, result, detail, version, part)
order by run_id, job_id, direction, dataset_id, name, field, at desc, digest desc, result desc, detail collate "C" desc
on conflict (run_id, job_id, direction, dataset_id, name, field) do update set
  at = excluded.at, digest = excluded.digest, result = excluded.result, detail = excluded.detail, version = excluded.version, part = excluded.part
where (excluded.at, excluded.digest, excluded.result, excluded.detail collate "C") > (t.at, t.digest, t.result, t.detail collate "C")

-- name: insert_run_labels :exec
-- Labels of runs: all that any event of the run has.
insert into run_labels (run_id, job_id, name, value)
select distinct * from unnest(%(run_id)b::uuid[], %(job_id)b::uuid[], %(name)b::text[], %(value)b::text[]) u
order by 1, 2, 3, 4
on conflict do nothing

-- name: upsert_job_dependencies :exec
-- Dependencies of jobs, with the first and the last time each was reported.
insert into job_dependencies as t (reporter_id, upstream_id, downstream_id, kind, first_at, last_at)
select reporter_id, upstream_id, downstream_id, kind, min(at), max(at)
from unnest(%(reporter_id)b::uuid[], %(upstream_id)b::uuid[], %(downstream_id)b::uuid[], %(kind)b::text[], %(at)b::timestamptz[])
     as u (reporter_id, upstream_id, downstream_id, kind, at)
group by 1, 2, 3, 4 order by 1, 2, 3, 4
on conflict (reporter_id, upstream_id, downstream_id, kind) do update set
  first_at = least(t.first_at, excluded.first_at), last_at = greatest(t.last_at, excluded.last_at)
where excluded.first_at < t.first_at or excluded.last_at > t.last_at

-- name: upsert_owner_facets :many
-- Add or update the sets reported for each owner, with their first and last time; return whether the searchable facets of the owner (those of
-- model.described) may have changed: a set never reported for it, or reported again after a different one. RETURNING reads the table as it was before.
insert into owner_facets as t (owner, set_id, first_at, last_at, last_digest)
select owner, set_id, min(at), max(at), (array_agg(digest order by at desc, digest desc))[1]
from unnest(%(owner)b::uuid[], %(set_id)b::uuid[], %(at)b::timestamptz[], %(digest)b::bytea[]) as u (owner, set_id, at, digest)
group by owner, set_id order by owner, set_id
on conflict (owner, set_id) do update set first_at = least(t.first_at, excluded.first_at),
  (last_at, last_digest) = (
    select e.at, e.digest from (values (excluded.last_at, excluded.last_digest), (t.last_at, t.last_digest)) e (at, digest)
    order by e.at desc, e.digest desc limit 1)
where excluded.first_at < t.first_at or (excluded.last_at, excluded.last_digest) > (t.last_at, t.last_digest)
returning owner, exists (
  select 1 from facet_sets mine
  where mine.id = t.set_id and mine.name in ('catalog', 'datasetType', 'dbt_exposure', 'dbt_node', 'documentation', 'gcp_composer_job', 'gcp_lineage',
    'hierarchy', 'jobType', 'lifecycleStateChange', 'ownership', 'schema', 'sql', 'storage', 'tags') and (t.xmax = 0 or exists (
    select 1 from owner_facets old
    cross join lateral (
      select set_id from owner_facets where owner = old.owner and set_id <> old.set_id and last_at >= old.last_at offset 0) other
    cross join lateral (
      select 1 from facet_sets theirs where theirs.id = other.set_id and theirs.name = mine.name and theirs.body_id <> mine.body_id offset 0) theirs
    where old.owner = t.owner and old.set_id = t.set_id and t.last_at >= old.last_at)))

-- name: upsert_report_columns :exec
-- Set the column edges of a report for a target; the latest wins within its slot.
insert into report_columns as t (job_id, report_id, target_id, origin, slot, at, digest, set_id)
select distinct on (job_id, report_id, target_id, origin, slot) job_id, report_id, target_id, origin, slot, at, digest, set_id
from unnest(%(job_id)b::uuid[], %(report_id)b::uuid[], %(target_id)b::uuid[], %(origin)b::int2[], %(slot)b::uuid[],
            %(at)b::timestamptz[], %(digest)b::bytea[], %(set_id)b::uuid[])
     as u (job_id, report_id, target_id, origin, slot, at, digest, set_id)
order by job_id, report_id, target_id, origin, slot, at desc, digest desc, set_id desc
on conflict (job_id, report_id, target_id, origin, slot) do update set at = excluded.at, digest = excluded.digest, set_id = excluded.set_id
where (excluded.at, excluded.digest, excluded.set_id) > (t.at, t.digest, t.set_id)

-- name: settle_jobs :exec
-- Settle the jobs of those of these runs that are complete, and state the edges of those that have snapshots again. The jobs' rows are locked by then: this
-- transaction touched them.
select settle_jobs(array(
  select distinct u.job_id from unnest(%(jobs)b::uuid[], %(runs)b::uuid[]) u (job_id, run_id)
  join runs r on r.run_id = u.run_id and r.job_id = u.job_id and r.state >= 3)),
  restate_edges(%(jobs)b::uuid[], %(runs)b::uuid[])

-- name: settle_names :exec
-- One name for each group of linked datasets: one that is no alias, the first by namespace and name.
with recursive member (root, id) as (
  select i, i from unnest(%(ids)b::uuid[]) i
  union
  select m.root, l.other from member m cross join lateral (
    select alias_id as other from dataset_links where dataset_id = m.id
    union all select dataset_id from dataset_links where alias_id = m.id) l
), best as (
  select distinct on (m.root) m.root, d.id from member m join datasets d on d.id = m.id
  order by m.root, exists (select 1 from dataset_links l where l.alias_id = d.id), d.namespace, d.name
)
insert into dataset_canonical as t (dataset_id, canonical_id)
select distinct m.id, b.id from member m join best b using (root) order by 1
on conflict (dataset_id) do update set canonical_id = excluded.canonical_id where t.canonical_id <> excluded.canonical_id

-- name: upsert_annotations :exec
-- Add or update people's annotations: the latest wins.
insert into annotations as t (target, kind, key, value, deleted, author, at, change_id, owner, field)
select distinct on (target, kind, key) target, kind, key, value::jsonb, deleted, author, at, change_id, owner, field
from unnest(%(target)b::text[], %(kind)b::text[], %(key)b::text[], %(value)b::text[], %(deleted)b::bool[], %(author)b::text[],
            %(at)b::timestamptz[], %(change_id)b::uuid[], %(owner)b::uuid[], %(field)b::text[])
     as u (target, kind, key, value, deleted, author, at, change_id, owner, field)
order by target, kind, key, at desc, change_id desc
on conflict (target, kind, key) do update set value = excluded.value, deleted = excluded.deleted, author = excluded.author, at = excluded.at, change_id = excluded.change_id
where (excluded.at, excluded.change_id) > (t.at, t.change_id)

-- name: insert_edge_changes :exec
-- Edges that people drew and removed.
insert into edge_changes (job_id, dataset_id, direction, change_id, at, drawn, set_id)
select job_id, dataset_id, direction, change_id, at, drawn, set_id
from unnest(%(job_id)b::uuid[], %(dataset_id)b::uuid[], %(direction)b::text[], %(change_id)b::uuid[], %(at)b::timestamptz[], %(drawn)b::bool[], %(set_id)b::uuid[])
     as u (job_id, dataset_id, direction, change_id, at, drawn, set_id)
order by job_id, dataset_id, direction, change_id
on conflict do nothing

-- name: upsert_correlation_items :exec
-- Nodes of correlation. An item's writer takes precedence over its readers, then the earliest report; two that disagree are a collision.
insert into correlation_items as t (id, kind, dataset_id, run_id, job_id, external_version, part, bytes, at, digest, collided)
select id, (array_agg(kind order by run_id is null, dataset_id is null, at, digest, dataset_id))[1],
       (array_agg(dataset_id order by run_id is null, dataset_id is null, at, digest, dataset_id))[1],
       (array_agg(run_id order by run_id is null, dataset_id is null, at, digest, dataset_id))[1],
       (array_agg(job_id order by run_id is null, dataset_id is null, at, digest, dataset_id))[1],
       min(external_version collate "C"), (array_agg(part order by run_id is null, dataset_id is null, at, digest, dataset_id, part))[1], max(bytes),
       (array_agg(at order by run_id is null, dataset_id is null, at, digest, dataset_id))[1],
       (array_agg(digest order by run_id is null, dataset_id is null, at, digest, dataset_id))[1],
       count(distinct (dataset_id, run_id, job_id)) filter (where run_id is not null) > 1 or count(distinct external_version) > 1
from unnest(%(id)b::uuid[], %(kind)b::text[], %(dataset_id)b::uuid[], %(run_id)b::uuid[], %(job_id)b::uuid[], %(external_version)b::text[], %(part)b::text[], %(bytes)b::int8[],
            %(at)b::timestamptz[], %(digest)b::bytea[])
     as u (id, kind, dataset_id, run_id, job_id, external_version, part, bytes, at, digest)
group by id order by id
on conflict (id) do update set
  (dataset_id, run_id, job_id, part, at, digest) = (
    select e.dataset_id, e.run_id, e.job_id, e.part, e.at, e.digest
    from (values (excluded.dataset_id, excluded.run_id, excluded.job_id, excluded.part, excluded.at, excluded.digest),
                 (t.dataset_id, t.run_id, t.job_id, t.part, t.at, t.digest)) e (dataset_id, run_id, job_id, part, at, digest)
    order by e.run_id is null, e.dataset_id is null, e.at, e.digest, e.dataset_id, e.part limit 1),
  external_version = least(t.external_version collate "C", excluded.external_version collate "C"),
  bytes = greatest(t.bytes, excluded.bytes),
  collided = t.collided or excluded.collided or coalesce(t.external_version <> excluded.external_version, false)
    or t.run_id is not null and excluded.run_id is not null
       and (t.dataset_id, t.run_id, t.job_id) is distinct from (excluded.dataset_id, excluded.run_id, excluded.job_id)
where (excluded.run_id is null, excluded.dataset_id is null, excluded.at, excluded.digest) < (t.run_id is null, t.dataset_id is null, t.at, t.digest)
   or greatest(t.bytes, excluded.bytes) is distinct from t.bytes
   or t.external_version is distinct from excluded.external_version and excluded.external_version is not null
   or not t.collided and (excluded.collided or t.run_id is not null and excluded.run_id is not null
       and (t.dataset_id, t.run_id, t.job_id) is distinct from (excluded.dataset_id, excluded.run_id, excluded.job_id))

-- name: new_correlation_edges :many
-- Those of these edges of correlation that are new, or earlier than before. The transaction that maintains the closure writes them.
select u.* from (
  select distinct on (parent_id, child_id) parent_id, child_id, role, at, digest
  from unnest(%(parent_id)b::uuid[], %(child_id)b::uuid[], %(role)b::int2[], %(at)b::timestamptz[], %(digest)b::bytea[]) as u (parent_id, child_id, role, at, digest)
  order by parent_id, child_id, at, digest, role) u
where not exists (
  select from correlation_edges t
  where t.parent_id = u.parent_id and t.child_id = u.child_id and (t.at, t.digest, t.role) <= (u.at, u.digest, u.role))
