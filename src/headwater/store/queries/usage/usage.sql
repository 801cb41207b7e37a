-- name: page :many
-- Usage of datasets, each under all its names: counts add up, of distinct readers the most under one name, the liveliest status.
with merged as (
  select coalesce(c.canonical_id, u.dataset_id) as id, max(u.at) as at, sum(u.reads)::int8 as reads, sum(u.writes)::int8 as writes,
         sum(u.reads_by_people)::int8 as reads_by_people, sum(u.reads_by_services)::int8 as reads_by_services, sum(u.reads_by_bi)::int8 as reads_by_bi,
         sum(u.reads_by_pipelines)::int8 as reads_by_pipelines, sum(u.reads_by_unknown)::int8 as reads_by_unknown, max(u.distinct_readers) as distinct_readers, max(u.distinct_people) as distinct_people,
         max(u.last_read_at) as last_read_at, max(u.last_read_by_person_at) as last_read_by_person_at, max(u.last_written_at) as last_written_at,
         min(u.first_seen_at) as first_seen_at, max(u.active_days) as active_days,
         (array_agg(u.status order by array_position(array['active', 'one_off', 'stale', 'unread', 'dropped'], u.status), u.status))[1] as status,
         jsonb_agg(u.top_readers order by u.dataset_id) as top_readers_by_name
  from usage u left join dataset_canonical c on c.dataset_id = u.dataset_id where not u.deleted group by 1
)
select d.namespace, d.name, m.*
from merged m join datasets d on d.id = m.id
where not d.hidden and (%(ids)b::uuid[] is null or d.id = any(%(ids)b::uuid[])) and (%(namespace)s::text is null or d.namespace = %(namespace)s)
  and (%(statuses)b::text[] is null or m.status = any(%(statuses)b::text[]))
  and (%(kind)s::text is null or case %(kind)s when 'person' then m.reads_by_people when 'service' then m.reads_by_services when 'bi' then m.reads_by_bi
       when 'pipeline' then m.reads_by_pipelines else m.reads_by_unknown end > 0)
  and (%(unread_since)s::timestamptz is null or m.last_read_at is null or m.last_read_at < %(unread_since)s)
order by case %(sort)s when 'name' then null when 'writes' then m.writes when 'people' then m.distinct_people when 'readers' then m.distinct_readers
         when 'active_days' then m.active_days when 'reads_by_people' then m.reads_by_people when 'last_read' then extract(epoch from m.last_read_at)
         when 'last_written' then extract(epoch from m.last_written_at) else m.reads end * %(sign)s::int nulls last, d.namespace, d.name
limit %(limit)s offset %(offset)s

-- name: totals :many
-- Usage of the same datasets by status: how many, and how often they are read and written.
with merged as (
  select coalesce(c.canonical_id, u.dataset_id) as id, max(u.at) as at, sum(u.reads) as reads, sum(u.writes) as writes,
         sum(u.reads_by_people) as reads_by_people, sum(u.reads_by_services) as reads_by_services, sum(u.reads_by_bi) as reads_by_bi,
         sum(u.reads_by_pipelines) as reads_by_pipelines, sum(u.reads_by_unknown) as reads_by_unknown, max(u.last_read_at) as last_read_at,
         (array_agg(u.status order by array_position(array['active', 'one_off', 'stale', 'unread', 'dropped'], u.status), u.status))[1] as status
  from usage u left join dataset_canonical c on c.dataset_id = u.dataset_id where not u.deleted group by 1
)
select m.status, count(*), sum(m.reads)::int8, sum(m.writes)::int8, sum(m.reads_by_people)::int8, sum(m.reads_by_services)::int8, sum(m.reads_by_bi)::int8,
       sum(m.reads_by_pipelines)::int8, sum(m.reads_by_unknown)::int8, max(m.at)
from merged m join datasets d on d.id = m.id
where not d.hidden and (%(ids)b::uuid[] is null or d.id = any(%(ids)b::uuid[])) and (%(namespace)s::text is null or d.namespace = %(namespace)s)
  and (%(statuses)b::text[] is null or m.status = any(%(statuses)b::text[]))
  and (%(kind)s::text is null or case %(kind)s when 'person' then m.reads_by_people when 'service' then m.reads_by_services when 'bi' then m.reads_by_bi
       when 'pipeline' then m.reads_by_pipelines else m.reads_by_unknown end > 0)
  and (%(unread_since)s::timestamptz is null or m.last_read_at is null or m.last_read_at < %(unread_since)s)
group by m.status order by 1

-- name: using_jobs :many
-- The jobs that read or write a dataset (under any of its names) or did, with how many of their runs since a time did, and when the last did.
with member as (
  select %(dataset)s::uuid as id union select dataset_id from dataset_canonical where canonical_id = %(dataset)s::uuid
), used as (
  select e.job_id, e.direction, max(coalesce(greatest(e.last_at, e.declared_at), e.first_at)) as last_at
  from member m join edges e on e.dataset_id = m.id group by 1, 2
)
select u.job_id, u.direction, u.last_at, (
  select count(*) from runs r where r.job_id = u.job_id and r.first_event_at >= %(since)s and exists (
    select from report_datasets d join member m on m.id = d.dataset_id where d.job_id = u.job_id and d.report_id = r.run_id and d.direction = u.direction))
from used u order by u.last_at desc nulls last, u.job_id limit %(limit)s
