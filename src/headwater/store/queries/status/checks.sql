-- name: failed :many
-- The checks that failed last, with the dataset that each is about, by the name that stands for it; of a check of a whole run, each that the run read, or
-- else wrote.
with recent as (
  select * from checks where result = 2 order by at desc, run_id, dataset_id, name, field limit %(limit)s
)
select f.run_id, f.job_id, f.dataset_id, t.direction, coalesce(c.canonical_id, t.dataset_id), f.name, f.field, f.at, f.digest, f.result, f.detail, f.version, f.part
from recent f cross join lateral (
  select f.direction, f.dataset_id where f.direction <> 'run'
  union
  select p.direction, p.dataset_id from stated_datasets p
  where f.direction = 'run' and p.job_id = f.job_id and p.report_id = f.run_id
    and (p.direction = 'in' or not exists (
      select from stated_datasets q where q.job_id = f.job_id and q.report_id = f.run_id and q.direction = 'in'))
) t left join dataset_canonical c on c.dataset_id = t.dataset_id
order by f.at desc, f.run_id, 5, f.name, f.field

-- name: passed_since :many
-- Results of these checks of these datasets and jobs, under any of their names, that came at or after a time and are no failures.
with asked as (
  select * from unnest(%(subjects)b::uuid[], %(names)b::text[], %(fields)b::text[], %(ats)b::timestamptz[]) as a (subject, name, field, at)
), member as (
  select subject, subject as id from asked
  union select a.subject, d.dataset_id from asked a join dataset_canonical c on c.dataset_id = a.subject join dataset_canonical d on d.canonical_id = c.canonical_id
)
select distinct k.run_id, k.job_id, k.dataset_id, t.direction, coalesce(c.canonical_id, t.dataset_id), k.name, k.field, k.at, k.digest, k.result, k.detail, k.version, k.part
from asked a join member m on m.subject = a.subject
join checks k on k.dataset_id = m.id and k.name = a.name and k.field = a.field and k.at >= a.at and k.result < 2
cross join lateral (
  select k.direction, k.dataset_id where k.direction <> 'run'
  union
  select p.direction, p.dataset_id from stated_datasets p
  where k.direction = 'run' and p.job_id = k.job_id and p.report_id = k.run_id
    and (p.direction = 'in' or not exists (
      select from stated_datasets q where q.job_id = k.job_id and q.report_id = k.run_id and q.direction = 'in'))
) t left join dataset_canonical c on c.dataset_id = t.dataset_id

-- name: checked_versions :many
-- The versions that these results are about, which came without a run: (place, version).
with asked as (
  select * from unnest(%(datasets)b::uuid[], %(versions)b::text[], %(parts)b::text[], %(ats)b::timestamptz[]) with ordinality as a (node, version, part, at, place)
), member as (
  select node, node as id from asked union select canonical_id, dataset_id from dataset_canonical where canonical_id in (select node from asked)
)
select a.place::int4 - 1, v.id from asked a join member m on m.node = a.node join dataset_versions v on v.dataset_id = m.id and v.external_version = a.version
where a.version <> ''
union
select a.place::int4 - 1, x.id from asked a cross join (values (false), (true)) as k (by_run) cross join lateral (
  select v.id from member m join dataset_versions v on v.dataset_id = m.id left join runs r on r.run_id = v.run_id and r.job_id = v.job_id
  where m.node = a.node and v.written_at <= a.at and (v.run_id is not null or not k.by_run) and (coalesce(r.state, 3) not in (4, 5) or v.checkpoint) and not v.declared
    and (a.part = '' or v.run_id is null
      or exists (select from report_subsets s where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out' and s.part = a.part)
      or not exists (select from report_subsets s where s.job_id = v.job_id and s.report_id = v.run_id and s.dataset_id = v.dataset_id and s.direction = 'out'))
  order by v.written_at desc, v.external_version = '', v.id limit 1) x
where a.version = ''

-- name: unwritten :many
-- Those of these datasets of which no version is stored, under any of their names: no run wrote them, and nothing declared them.
select i from unnest(%(datasets)b::uuid[]) i
where not exists (select from dataset_versions v where v.dataset_id = i)
  and not exists (select from dataset_canonical c join dataset_versions v on v.dataset_id = c.dataset_id where c.canonical_id = i)

-- name: call_fine :exec
-- Say of these versions that they are right as they are.
insert into fine_versions (version_id, at, author, note)
select id, %(at)s, %(author)s, %(note)s from unnest(%(versions)b::uuid[]) as u (id)
on conflict (version_id) do update set at = excluded.at, author = excluded.author, note = excluded.note

-- name: fine :many
-- The versions that people called right, and when.
select version_id, at from fine_versions

-- name: trusted :many
-- The instances that people trusted after a time against doubts about what they were made from.
select r.entity_id, (i.value->>0)::int8, (i.value->>1)::int8, r.happened_at from status_reports r cross join lateral jsonb_array_elements(r.body->'instances') i (value)
where r.what = 'trusted' and r.ref = %(ref)s and r.happened_at >= %(since)s
