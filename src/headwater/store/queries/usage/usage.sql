-- name: page :many
-- Usage of datasets, each under all its names: counts add up, of distinct readers the most under one name, the liveliest status.
with merged as (
  select coalesce(c.canonical_id, u.dataset_id) as id, max(u.at) as at, sum(u.reads)::int8 as reads, sum(u.writes)::int8 as writes,
         sum(u.reads_by_people)::int8 as people_reads, sum(u.reads_by_services)::int8 as service_reads, sum(u.reads_by_bi)::int8 as bi_reads,
         sum(u.reads_by_pipelines)::int8 as pipeline_reads, sum(u.reads_by_unknown)::int8 as unknown_reads, max(u.readers) as readers, max(u.people) as people,
         max(u.last_read_at) as last_read_at, max(u.last_read_by_person_at) as last_read_by_person_at, max(u.last_written_at) as last_written_at,
         min(u.first_seen_at) as first_seen_at, max(u.active_days) as active_days,
         (array_agg(u.status order by array_position(array['active', 'one_off', 'stale', 'unread', 'dropped'], u.status), u.status))[1] as status,
         jsonb_agg(u.top_readers order by u.dataset_id) as top_readers
  from usage u left join dataset_canonical c on c.dataset_id = u.dataset_id where not u.deleted group by 1
)
select d.id, d.namespace, d.name, m.at, m.reads, m.writes, m.people_reads, m.service_reads, m.bi_reads, m.pipeline_reads, m.unknown_reads, m.readers, m.people,
       m.last_read_at, m.last_read_by_person_at, m.last_written_at, m.first_seen_at, m.active_days, m.status, m.top_readers
from merged m join datasets d on d.id = m.id
where not d.hidden and (%(ids)b::uuid[] is null or d.id = any(%(ids)b::uuid[])) and (%(namespace)s::text is null or d.namespace = %(namespace)s)
  and (%(statuses)b::text[] is null or m.status = any(%(statuses)b::text[]))
  and (%(kind)s::text is null or case %(kind)s when 'person' then m.people_reads when 'service' then m.service_reads when 'bi' then m.bi_reads
       when 'pipeline' then m.pipeline_reads else m.unknown_reads end > 0)
  and (%(unread_since)s::timestamptz is null or m.last_read_at is null or m.last_read_at < %(unread_since)s)
order by case %(sort)s when 'name' then null when 'writes' then m.writes when 'people' then m.people when 'readers' then m.readers
         when 'active_days' then m.active_days when 'reads_by_people' then m.people_reads when 'last_read' then extract(epoch from m.last_read_at)
         when 'last_written' then extract(epoch from m.last_written_at) else m.reads end * %(sign)s::int nulls last, d.namespace, d.name
limit %(limit)s offset %(offset)s

-- name: totals :many
-- Usage of the same datasets by status: how many, and how often they are read and written.
with merged as (
  select coalesce(c.canonical_id, u.dataset_id) as id, max(u.at) as at, sum(u.reads) as reads, sum(u.writes) as writes,
         sum(u.reads_by_people) as people_reads, sum(u.reads_by_services) as service_reads, sum(u.reads_by_bi) as bi_reads,
         sum(u.reads_by_pipelines) as pipeline_reads, sum(u.reads_by_unknown) as unknown_reads, max(u.last_read_at) as last_read_at,
         (array_agg(u.status order by array_position(array['active', 'one_off', 'stale', 'unread', 'dropped'], u.status), u.status))[1] as status
  from usage u left join dataset_canonical c on c.dataset_id = u.dataset_id where not u.deleted group by 1
)
select m.status, count(*), sum(m.reads)::int8, sum(m.writes)::int8, sum(m.people_reads)::int8, sum(m.service_reads)::int8, sum(m.bi_reads)::int8,
       sum(m.pipeline_reads)::int8, sum(m.unknown_reads)::int8, max(m.at)
from merged m join datasets d on d.id = m.id
where not d.hidden and (%(ids)b::uuid[] is null or d.id = any(%(ids)b::uuid[])) and (%(namespace)s::text is null or d.namespace = %(namespace)s)
  and (%(statuses)b::text[] is null or m.status = any(%(statuses)b::text[]))
  and (%(kind)s::text is null or case %(kind)s when 'person' then m.people_reads when 'service' then m.service_reads when 'bi' then m.bi_reads
       when 'pipeline' then m.pipeline_reads else m.unknown_reads end > 0)
  and (%(unread_since)s::timestamptz is null or m.last_read_at is null or m.last_read_at < %(unread_since)s)
group by m.status order by 1
