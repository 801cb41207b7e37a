-- name: family :many
-- The runs with this id, one for each job that has it, and the runs below them, all the way down.
with recursive below (run_id, job_id, depth) as (
  select run_id, job_id, 0 from runs where run_id = %(run_id)s and first_event_at <= %(as_of)s
  union
  select r.run_id, r.job_id, b.depth + 1 from runs r join below b on r.parent_run_id = b.run_id where b.depth < 32 and r.first_event_at <= %(as_of)s
)
select run_id, job_id from below group by 1, 2 order by min(depth), 1, 2 limit %(limit)s

-- name: runs :many
-- Runs by (run, job): their places in the list, and the rest of them.
select k.nr::int4 - 1, r.external_id, r.state, r.first_event_at, r.last_event_at, r.started_at, r.ended_at, r.parent_run_id, r.parent_job_id, r.nominal_start, r.nominal_end
from unnest(%(runs)b::uuid[], %(jobs)b::uuid[]) with ordinality as k (run_id, job_id, nr) join runs r using (run_id, job_id) where r.first_event_at <= %(as_of)s

-- name: datasets :many
-- The datasets that these runs read or wrote, by their canonical names, and the reported parts; a dataset only declared yields to one that a child was seen doing.
-- Without `all`, those that say no more than their version does are left out: seen, not declared, and without parts.
select d.report_id, d.job_id, coalesce(c.canonical_id, d.dataset_id), bool_and(d.declared), array_agg(distinct s.part) filter (where s.part is not null)
from unnest(%(runs)b::uuid[], %(jobs)b::uuid[]) as k (run_id, job_id)
join report_datasets d on d.job_id = k.job_id and d.report_id = k.run_id and d.direction = %(direction)s and d.first_at <= %(as_of)s
  and not exists (select from report_snapshots x where x.job_id = d.job_id and x.report_id = d.report_id and x.at > d.last_at and x.at <= %(as_of)s)
left join dataset_canonical c on c.dataset_id = d.dataset_id
left join report_subsets s on s.job_id = d.job_id and s.report_id = d.report_id and s.dataset_id = d.dataset_id and s.direction = d.direction
where %(all)s or d.declared or s.part is not null or not exists (
  select from dataset_versions v where v.run_id = d.report_id and v.job_id = d.job_id and v.dataset_id = d.dataset_id and not v.declared and v.first_at <= %(as_of)s)
group by 1, 2, 3
having not bool_and(d.declared) or not exists (
  select 1 from runs child join report_datasets seen on seen.job_id = child.job_id and seen.report_id = child.run_id
    and seen.dataset_id = any(array(select n from unnest(array_agg(d.dataset_id)) i cross join names_of(i) n)) and seen.direction = %(direction)s
    and seen.first_at <= %(as_of)s and not is_replaced(seen.job_id, seen.report_id, seen.last_at, %(as_of)s)
  where child.parent_run_id = d.report_id)
order by 1, 2, 3

-- name: versions_at_start :many
-- The version that each of these readers found in a dataset when it began: the latest written before by a run that did not fail, or a stream's checkpoint; for a reader
-- that reported the parts it read, one for each part (a writer that named no part wrote them all). Else what a run still writing had begun; a stream's
-- counts from then on like one that is written.
-- A version without an external name yields to one of the same run that has it, here and below.
with asked as (
  select * from unnest(%(runs)b::uuid[], %(jobs)b::uuid[], %(nodes)b::uuid[], %(ats)b::timestamptz[]) as a (run_id, job_id, node, at)
), member as (
  select node, node as id from asked union select canonical_id, dataset_id from dataset_canonical where canonical_id in (select node from asked)
), told as (
  select distinct a.run_id, a.job_id, a.node, a.at, s.part
  from asked a left join (member m join report_subsets s on s.dataset_id = m.id and s.direction = 'in')
    on m.node = a.node and s.job_id = a.job_id and s.report_id = a.run_id
)
select distinct on (t.run_id, t.job_id, t.node, t.part) t.run_id, t.job_id, t.node, t.part, x.id
from told t join member m on m.node = t.node cross join lateral (
  (select v.id, true as done, v.written_at as at from dataset_versions v left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
   where v.dataset_id = m.id and v.written_at <= t.at and (v.run_id, v.job_id) is distinct from (t.run_id, t.job_id) and (coalesce(r.state, 3) not in (4, 5) or v.checkpoint)
     and (t.part is null or v.run_id is null
       or exists (select 1 from report_subsets s where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out' and s.part = t.part)
       or not exists (select 1 from report_subsets s where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out'))
     and not (v.external_version = '' and exists (select 1 from dataset_versions s where s.run_id = v.run_id and s.job_id = v.job_id and s.dataset_id = v.dataset_id and s.external_version <> ''))
     and not (v.declared and exists (select 1 from dataset_versions s join runs c on c.run_id = s.run_id where s.dataset_id = any(array(select n from names_of(v.dataset_id) n)) and c.parent_run_id = v.run_id))
   order by v.written_at desc, v.id limit 1)
  union all
  (select v.id, v.checkpoint, v.first_at from dataset_versions v left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
   where v.dataset_id = m.id and v.first_at <= t.at and v.written_at > t.at and (v.run_id, v.job_id) is distinct from (t.run_id, t.job_id) and not v.declared and (coalesce(r.state, 3) not in (4, 5) or v.checkpoint)
   order by v.written_at, v.id limit 1)) x
order by t.run_id, t.job_id, t.node, t.part, x.done desc, x.at desc, x.id

-- name: versions_named :many
-- The version of a dataset that goes by an external version: the one nearest before the time it was read, else the nearest after.
with asked as (
  select * from unnest(%(nodes)b::uuid[], %(names)b::text[], %(ats)b::timestamptz[]) as a (node, name, at)
), member as (
  select node, node as id from asked union select canonical_id, dataset_id from dataset_canonical where canonical_id in (select node from asked)
)
select distinct on (a.node, a.name, a.at) a.node, a.name, a.at, v.id
from asked a join member m on m.node = a.node join dataset_versions v on v.dataset_id = m.id and v.external_version = a.name and v.first_at <= %(as_of)s
order by a.node, a.name, a.at, v.written_at <= a.at desc, abs(extract(epoch from v.written_at - a.at)), v.id

-- name: versions :many
-- Versions by id, under the names that stand for their datasets.
select v.id, coalesce(c.canonical_id, v.dataset_id), v.run_id, v.job_id, v.external_version, v.declared, v.first_at, v.written_at, v.lifecycle, v.rows, v.bytes, v.files
from dataset_versions v left join dataset_canonical c on c.dataset_id = v.dataset_id where v.id = any(%(ids)b)

-- name: with_special_versions :many
-- Datasets, under any of their names, that have a version with a name in its storage, or one that a stream wrote bit by bit.
select i from unnest(%(ids)b::uuid[]) as i
where exists (select from dataset_versions v where v.dataset_id = i and (v.external_version <> '' or v.checkpoint))
   or exists (select from dataset_canonical c join dataset_versions v on v.dataset_id = c.dataset_id where c.canonical_id = i and (v.external_version <> '' or v.checkpoint))

-- name: versions_by_name :many
-- The latest version of each dataset that goes by a name in its storage, or by its id.
select distinct on (m.node) v.id, m.node, v.run_id, v.job_id, v.external_version, v.declared, v.first_at, v.written_at, v.lifecycle, v.rows, v.bytes, v.files
from (select i as node, i as id from unnest(%(ids)b::uuid[]) as i
      union select canonical_id, dataset_id from dataset_canonical where canonical_id = any(%(ids)b::uuid[])) m
join dataset_versions v on v.dataset_id = m.id and (v.external_version = %(name)s or v.id::text = %(name)s)
order by m.node, v.written_at desc, v.id

-- name: versions_written :many
-- The versions that these runs wrote: the places of the runs in the list, and the rest of them. A version without an external name yields to one of the same run that has it; one that is only declared to
-- what a child of the run was seen writing.
select k.nr::int4 - 1, v.id, coalesce(c.canonical_id, v.dataset_id), v.external_version, v.declared, v.first_at, v.written_at, v.lifecycle, v.rows, v.bytes, v.files
from unnest(%(runs)b::uuid[], %(jobs)b::uuid[]) with ordinality as k (run_id, job_id, nr)
join dataset_versions v on v.run_id = k.run_id and v.job_id = k.job_id and v.first_at <= %(as_of)s
left join dataset_canonical c on c.dataset_id = v.dataset_id
where not (v.external_version = '' and exists (
    select 1 from dataset_versions s where s.run_id = v.run_id and s.job_id = v.job_id and s.dataset_id = v.dataset_id and s.external_version <> ''))
  and not (v.declared and exists (select 1 from dataset_versions s join runs p on p.run_id = s.run_id where s.dataset_id = any(array(select n from names_of(v.dataset_id) n)) and p.parent_run_id = v.run_id))
order by v.written_at, v.id

-- name: readers :many
-- Runs that may have read these versions: of each reading job those that began before the next version was there (at most `most` and one);
-- of the `most` after it those that read a part this version wrote; and the next few (`later`) where the version has a name to be asked for by.
-- The last column is true for a run that cannot have found another version when it began, if none of the dataset's versions is special
-- (`with_special_versions`): no part is named, and no version but this one was written between this one and that moment.
-- Materialized: joined at once, every reading job is looked at for every run that read. The names of a dataset are looked up for each version: as a
-- list of all, the list is searched from its beginning for every version.
with asked as (
  select a.nr, v.run_id, v.job_id, coalesce(c.canonical_id, v.dataset_id) as node, v.first_at, v.written_at, v.external_version <> '' as named,
    not v.declared and (v.checkpoint or coalesce(r.state, 3) not in (4, 5)) as whole, (
    select array_agg(s.part) from report_subsets s
    where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out') as parts, v.id
  from unnest(%(ids)b::uuid[]) with ordinality as a (id, nr) join dataset_versions v on v.id = a.id
  left join dataset_canonical c on c.dataset_id = v.dataset_id left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
), spans as materialized (
  select a.*, n.until, n.next
  from asked a cross join lateral (
    select min(n.written_at) filter (where n.counts and n.written_at > a.written_at) as until, min(n.written_at) as next from (
      select a.node as id union select dataset_id from dataset_canonical where canonical_id = a.node) m cross join lateral (
      (select v.written_at, true as counts from dataset_versions v left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
       where v.dataset_id = m.id and v.written_at > a.written_at and (coalesce(r.state, 3) not in (4, 5) or v.checkpoint) and not v.declared
         and not (v.external_version = '' and exists (select 1 from dataset_versions s where s.run_id = v.run_id and s.job_id = v.job_id and s.dataset_id = v.dataset_id and s.external_version <> ''))
       order by v.written_at limit 1)
      union all
      (select v.written_at, false from dataset_versions v
       where v.dataset_id = m.id and v.written_at >= a.written_at and v.id <> a.id order by v.written_at limit 1)) n) n
  where exists (select from edges e where e.dataset_id = a.node and e.direction = 'in')
    or exists (select from dataset_canonical c join edges e on e.dataset_id = c.dataset_id and e.direction = 'in' where c.canonical_id = a.node)
), reading as materialized (
  select s.*, m.id as dataset_id, e.job_id as reader
  from spans s cross join lateral (
    select s.node as id union select dataset_id from dataset_canonical where canonical_id = s.node) m
  join edges e on e.dataset_id = m.id and e.direction = 'in'
), candidate as materialized (
  select s.nr, s.dataset_id, x.run_id, s.reader as job_id,
    s.whole and s.parts is null and x.began >= s.written_at and x.began < coalesce(s.next, 'infinity') and (x.run_id, s.reader) is distinct from (s.run_id, s.job_id) as sure
  from reading s cross join lateral (
    select r.run_id, coalesce(r.started_at, r.first_event_at) as began from runs r
    where r.job_id = s.reader and r.first_event_at >= s.first_at and r.first_event_at <= %(as_of)s and r.first_event_at <= coalesce(s.until, 'infinity')
    order by r.first_event_at, r.run_id limit %(most)s + 1) x
  union all
  select s.nr, s.dataset_id, x.run_id, s.reader, null from reading s cross join lateral (
    select r.run_id from runs r where r.job_id = s.reader and r.first_event_at > s.until and r.first_event_at <= %(as_of)s
    order by r.first_event_at, r.run_id limit %(most)s) x
  where s.parts is not null and exists (
    select 1 from report_subsets p where p.job_id = s.reader and p.report_id = x.run_id and p.dataset_id = s.dataset_id and p.direction = 'in' and p.part = any(s.parts))
  union all
  select s.nr, s.dataset_id, x.run_id, s.reader, null from reading s cross join lateral (
    select r.run_id from runs r where r.job_id = s.reader and r.first_event_at > s.until and r.first_event_at <= %(as_of)s
    order by r.first_event_at, r.run_id limit %(later)s) x
  where s.named
)
select c.nr::int4 - 1, c.run_id, c.job_id, coalesce(bool_and(c.sure and not d.declared and d.first_at <= %(as_of)s and not exists (
    select from report_subsets p where p.job_id = d.job_id and p.report_id = d.report_id and p.dataset_id = d.dataset_id and p.direction = 'in')), false)
from candidate c join report_datasets d on d.job_id = c.job_id and d.report_id = c.run_id and d.dataset_id = c.dataset_id and d.direction = 'in'
  and not is_replaced(d.job_id, d.report_id, d.last_at, %(as_of)s)
group by 1, 2, 3 order by 1, 2, 3
