-- name: condemn :exec
-- Add the origins of an incident, beside instances.
insert into incident_origins (incident, kind, ref, columns)
select %(incident)s, u.kind, u.ref, u.columns::jsonb from unnest(%(kinds)b::text[], %(refs)b::text[], %(columns)b::text[]) as u (kind, ref, columns) on conflict do nothing

-- name: origins :many
-- The origins of these incidents, beside instances.
select incident, kind, ref, columns::text from incident_origins where incident = any(%(incidents)b::uuid[]) order by incident, kind, ref

-- name: condemned :many
-- The origins of all incidents that were not retracted, beside instances.
select o.kind, o.ref, o.columns::text from incident_origins o join incidents i on i.id = o.incident where i.state <> 'retracted' order by o.kind, o.ref

-- name: current :many
-- The places in the list of those of these versions that are what a dataset holds: their runs did not fail, or were streams that had written them before, and of no part that
-- they wrote has another such run written a later version; of several parts that a run wrote, an item's version is one. A version that is only declared replaces none that was seen. The dataset's names are an array, and
-- not joined: before the first statistics of a new load a join reads all versions for each.
select k.nr::int4 - 1 from unnest(%(ids)b::uuid[]) with ordinality as k (id, nr) join dataset_versions v on v.id = k.id
left join dataset_canonical c on c.dataset_id = v.dataset_id
left join runs own on own.run_id = v.run_id and own.job_id = v.job_id
cross join lateral (
  select array_agg(s.part) as parts from report_subsets s
  where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out') whole
cross join lateral (
  select coalesce(case when cardinality(whole.parts) > 1 then (
    select array_agg(i.part) from correlation_items i
    join correlation_items w on w.run_id = v.run_id and w.job_id = v.job_id and w.kind = 'RUN'
    join correlation_edges e on e.parent_id = w.id and e.child_id = i.id and e.role = 2 and not e.refused
    where i.external_version = v.external_version and i.dataset_id = v.dataset_id and i.kind = 'ITEM' and i.part is not null)
  end, whole.parts) as parts) mine
where (coalesce(own.state, 3) not in (4, 5) or v.checkpoint) and not exists (
  select from dataset_versions n
  left join runs r on r.run_id = n.run_id and r.job_id = n.job_id
  cross join lateral (
    select array_agg(s.part) as parts from report_subsets s
    where s.job_id = n.job_id and s.report_id = n.run_id and s.dataset_id = n.dataset_id and s.direction = 'out') later
  where n.dataset_id = any(array(
      select coalesce(c.canonical_id, v.dataset_id) union all select dataset_id from dataset_canonical where canonical_id = coalesce(c.canonical_id, v.dataset_id)))
    and n.written_at > v.written_at and (n.run_id, n.job_id) is distinct from (v.run_id, v.job_id) and (v.declared or not n.declared)
    and (coalesce(r.state, 3) not in (4, 5) or n.checkpoint) and (mine.parts is null or later.parts is null or mine.parts && later.parts))

-- name: since_replaced :many
-- The versions of a dataset since a good run last wrote it as a whole, that one too; the latest first. One that is only declared replaces none.
with same as materialized (
  select coalesce(c.canonical_id, %(dataset)s::uuid) as id from (select) one left join dataset_canonical c on c.dataset_id = %(dataset)s::uuid
  union select dataset_id from dataset_canonical where canonical_id = %(dataset)s::uuid
), good as materialized (
  select v.id, v.written_at, v.declared or exists (select from report_subsets s
    where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out') as in_part
  from dataset_versions v left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
  where v.dataset_id in (select id from same) and (coalesce(r.state, 3) not in (4, 5) or v.checkpoint)
)
select id from good where written_at >= coalesce((select max(written_at) from good where not in_part), '-infinity') order by written_at desc, id limit %(limit)s

-- name: made_again :many
-- Those of these versions whose content a good run wrote again to the same dataset that began at `since` or later, and is none of these runs.
select distinct v.id from unnest(%(ids)b::uuid[]) as k (id) join dataset_versions v on v.id = k.id
join dataset_versions n on n.dataset_id = v.dataset_id and n.external_version = v.external_version and n.id <> v.id
join runs r on r.run_id = n.run_id and r.job_id = n.job_id
where v.external_version like 'xxh3-128%%' and r.state = 3 and coalesce(r.started_at, r.first_event_at) >= %(since)s and not r.run_id = any(%(runs)b::uuid[])

-- name: unconfirmed :many
-- Those of these versions after which no event says that the dataset was replaced: what came later may have been added to them.
select v.id from unnest(%(ids)b::uuid[]) as k (id) join dataset_versions v on v.id = k.id
left join dataset_canonical c on c.dataset_id = v.dataset_id
left join runs own on own.run_id = v.run_id and own.job_id = v.job_id
where (coalesce(own.state, 3) not in (4, 5) or v.checkpoint) and not exists (
  select from dataset_versions n left join runs r on r.run_id = n.run_id and r.job_id = n.job_id
  where n.dataset_id = any(array(
      select coalesce(c.canonical_id, v.dataset_id) union all select dataset_id from dataset_canonical where canonical_id = coalesce(c.canonical_id, v.dataset_id)))
    and n.written_at > v.written_at and n.lifecycle in ('OVERWRITE', 'CREATE', 'TRUNCATE', 'DROP') and coalesce(r.state, 3) not in (4, 5))

-- name: before :many
-- The version that the dataset of each of these versions had before it, if that has a name to go back to. Where a version is the content of one part, as an item
-- says, that of the same part. None that an incident is about. Else one of a part that both wrote, if both wrote parts; but a number counts the snapshots of a whole table.
with wanted as materialized (
  select v.id, v.dataset_id, v.run_id, v.job_id, v.external_version, v.written_at from unnest(%(ids)b::uuid[]) as k (id) join dataset_versions v on v.id = k.id
), condemned as materialized (
  select o.kind, o.ref from incident_origins o join incidents i on i.id = o.incident where i.state <> 'retracted'
), own as materialized (
  select v.id, v.dataset_id, v.written_at, case when count(distinct i.part) = 1 then min(i.part) end as part
  from wanted v join correlation_items i on i.external_version = v.external_version and i.dataset_id = v.dataset_id and i.kind = 'ITEM' and i.part is not null
  join correlation_items w on w.run_id = v.run_id and w.job_id = v.job_id and w.kind = 'RUN'
  join correlation_edges e on e.parent_id = w.id and e.child_id = i.id and e.role = 2 and not e.refused
  group by 1, 2, 3
), earlier as materialized (
  select distinct p.dataset_id, p.part, n.id, n.external_version, n.written_at
  from (select distinct dataset_id from own) d join dataset_versions n on n.dataset_id = d.dataset_id and n.external_version <> ''
  left join runs r on r.run_id = n.run_id and r.job_id = n.job_id
  join correlation_items i on i.external_version = n.external_version and i.dataset_id = n.dataset_id and i.kind = 'ITEM'
  join (select distinct dataset_id, part from own) p on p.dataset_id = i.dataset_id and p.part = i.part
  where coalesce(r.state, 3) not in (4, 5) and not n.id = any(%(wrong)b::uuid[])
    and not exists (select from condemned c where c.kind = 'VERSION' and c.ref = n.id::text
      or c.kind = 'RUN' and c.ref = n.run_id::text or c.kind = 'CONTENT' and c.ref = n.external_version)
)
(select distinct on (o.id) o.id, e.id, e.external_version, e.written_at from own o
 join earlier e on e.dataset_id = o.dataset_id and e.part = o.part and e.written_at < o.written_at order by o.id, e.written_at desc, e.id)
union all
select v.id, p.id, p.external_version, p.written_at from wanted v
cross join lateral (
  select array_agg(s.part) as parts from report_subsets s
  where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out') mine
cross join lateral (
  select n.id, n.external_version, n.written_at from dataset_versions n left join runs r on r.run_id = n.run_id and r.job_id = n.job_id
  cross join lateral (
    select array_agg(s.part) as parts from report_subsets s
    where s.job_id = n.job_id and s.report_id = n.run_id and s.dataset_id = n.dataset_id and s.direction = 'out') other
  where n.dataset_id = v.dataset_id and n.written_at < v.written_at and n.external_version <> '' and coalesce(r.state, 3) not in (4, 5)
    and not n.id = any(%(wrong)b::uuid[])
    and not exists (select from condemned c where c.kind = 'VERSION' and c.ref = n.id::text
      or c.kind = 'RUN' and c.ref = n.run_id::text or c.kind = 'CONTENT' and c.ref = n.external_version)
    and (v.external_version ~ '^[0-9]+$' or mine.parts is null or other.parts is null or mine.parts && other.parts)
  order by n.written_at desc, n.id limit 1) p
where not exists (select from own o where o.id = v.id)

-- name: item_readers :many
-- Runs that read an item or a content that these runs wrote to these datasets, by their own events: (place, run, job). Where the version of a place is named by
-- one of these contents, only what has that content.
with place as (
  select * from unnest(%(runs)b::uuid[], %(jobs)b::uuid[], %(datasets)b::uuid[], %(versions)b::text[]) with ordinality as p (run_id, job_id, dataset_id, version, place)
), every as (
  select p.place, i.id, coalesce(i.external_version = p.version, false) or exists (
      select from correlation_edges c join correlation_items n on n.id = c.child_id where c.parent_id = i.id and c.role = 3 and n.external_version = p.version) as named
  from place p
  join correlation_items w on w.run_id = p.run_id and w.job_id = p.job_id and w.kind = 'RUN'
  join correlation_edges e on e.parent_id = w.id and e.role = 2 and not e.refused
  join correlation_items i on i.id = e.child_id
  where i.dataset_id = p.dataset_id or exists (select from dataset_canonical c where c.dataset_id = i.dataset_id and c.canonical_id = p.dataset_id)
), written as (
  select place, id from (select *, bool_or(named) over (partition by place) as any_named from every) e where named or not any_named
), found as (
  select place, id from written
  union select w.place, e.child_id from written w join correlation_edges e on e.parent_id = w.id and e.role = 3
)
select distinct f.place::int4 - 1, n.run_id, n.job_id from found f join correlation_edges e on e.parent_id = f.id and e.role = 1 and not e.refused
join correlation_items n on n.id = e.child_id and n.kind = 'RUN'

-- name: content_readers :many
-- Runs that read this content, by itself or as an item that is it.
select distinct n.run_id, n.job_id from correlation_items i join correlation_edges e on e.parent_id = i.id and e.role = 1 and not e.refused
join correlation_items n on n.id = e.child_id and n.kind = 'RUN' where i.id = any(%(ids)b::uuid[])

-- name: reads_by_item :many
-- The datasets of which these runs report the items or contents they read.
select distinct n.run_id, n.job_id, coalesce(c.canonical_id, p.dataset_id)
from unnest(%(runs)b::uuid[], %(jobs)b::uuid[]) as k (run_id, job_id)
join correlation_items n on n.run_id = k.run_id and n.job_id = k.job_id and n.kind = 'RUN'
join correlation_edges e on e.child_id = n.id and e.role = 1
join correlation_items p on p.id = e.parent_id left join dataset_canonical c on c.dataset_id = p.dataset_id
where p.dataset_id is not null

-- name: instances_of_runs :many
-- The instances whose current versions these runs made, with their contents.
select v.entity_id, lower(p.piece), upper(p.piece), v.run, coalesce(v.fingerprint, '') from instance_versions v
cross join lateral (
  select coalesce(range_agg(int8range(n.start_, n.end_)), '{}') as later from instance_versions n
  where n.entity_id = v.entity_id and n.end_ > v.start_ and n.start_ < v.end_ and (n.produced_at, n.seq) > (v.produced_at, v.seq)) since
cross join lateral unnest(int8multirange(int8range(v.start_, v.end_)) - since.later) as p (piece)
where v.run = any(%(runs)b::text[]) and v.run <> ''

-- name: instances_of_content :many
-- The instances whose current versions are this content, with the runs that made them (empty if unknown).
select v.entity_id, lower(p.piece), upper(p.piece), v.run, v.fingerprint from instance_versions v
cross join lateral (
  select coalesce(range_agg(int8range(n.start_, n.end_)), '{}') as later from instance_versions n
  where n.entity_id = v.entity_id and n.end_ > v.start_ and n.start_ < v.end_ and (n.produced_at, n.seq) > (v.produced_at, v.seq)) since
cross join lateral unnest(int8multirange(int8range(v.start_, v.end_)) - since.later) as p (piece)
where v.fingerprint = %(fingerprint)s

-- name: versions_of_runs :many
-- The versions of instances that these runs made, current or not, with their contents.
select entity_id, start_, end_, run, coalesce(fingerprint, '') from instance_versions where run = any(%(runs)b::text[]) and run <> ''

-- name: versions_of_contents :many
-- The versions of datasets that are one of these contents or items.
select distinct v.id from correlation_items i join dataset_versions v on v.dataset_id = i.dataset_id and v.external_version = i.external_version
where i.id = any(%(ids)b::uuid[]) and i.external_version <> ''

-- name: makers_above :many
-- Of these runs and those above them, the ones that made instances: (run, maker).
with recursive above (run_id, at, depth) as (
  select k.run_id, k.run_id, 0 from unnest(%(runs)b::uuid[]) as k (run_id)
  union select a.run_id, r.parent_run_id, a.depth + 1 from above a join runs r on r.run_id = a.at where r.parent_run_id is not null and a.depth < 32
)
select distinct a.run_id, a.at from above a where exists (select from instance_versions v where v.run = a.at::text and v.run <> '')

-- name: reading_windows :many
-- The instances of the versions that are recorded as readers of instances in these windows.
select distinct v.entity_id, v.start_, v.end_ from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
join instance_reads r on r.upstream_id = w.entity_id and r.end_ > w.start_ and r.start_ < w.end_ join instance_versions v on v.seq = r.seq

-- name: runs_of_instances :many
-- The runs that had made the versions of these instances that were current at a report, each with those that it made.
select v.run, v.entity_id, lower(p.piece), upper(p.piece)
from unnest(%(entity_id)b::int4[], %(start_)b::int8[], %(end_)b::int8[]) as w (entity_id, start_, end_)
join instance_versions v on v.entity_id = w.entity_id and v.end_ > w.start_ and v.start_ < w.end_ and v.run <> '' and v.seq <= %(seq)s::int8
cross join lateral (
  select coalesce(range_agg(int8range(n.start_, n.end_)), '{}') as later from instance_versions n
  where n.entity_id = v.entity_id and n.end_ > v.start_ and n.start_ < v.end_ and n.seq <= %(seq)s::int8 and (n.produced_at, n.seq) > (v.produced_at, v.seq)) since
cross join lateral unnest(int8multirange(int8range(greatest(v.start_, w.start_), least(v.end_, w.end_))) - since.later) as p (piece)

-- name: scheduled_upstream :many
-- The instances that these runs, or those above them, made, and of which entities instances are recorded as their inputs.
with recursive above (run_id, at, depth) as (
  select k.run_id, k.run_id, 0 from unnest(%(runs)b::uuid[]) as k (run_id)
  union select a.run_id, r.parent_run_id, a.depth + 1 from above a join runs r on r.run_id = a.at where r.parent_run_id is not null and a.depth < 32
)
select distinct a.run_id, v.entity_id, v.start_, v.end_, r.upstream_id from above a join instance_versions v on v.run = a.at::text and v.run <> '' left join instance_reads r on r.seq = v.seq

-- name: has_versions :one
-- True if any run or event reported a version of a dataset.
select exists (select from dataset_versions)

-- name: run_keys :many
-- The runs with these ids, one for each job that has it, and the runs below them: each with the id that led to it.
with recursive below (root, run_id, job_id, depth) as (
  select run_id, run_id, job_id, 0 from runs where run_id = any(%(runs)b::uuid[])
  union
  select b.root, r.run_id, r.job_id, b.depth + 1 from runs r join below b on r.parent_run_id = b.run_id where b.depth < 32
)
select distinct root, run_id, job_id from below
