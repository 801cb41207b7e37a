-- The schema `lineage`: what Headwater holds, as tables to read with SQL. `views.py` replaces it after the migrations whenever this file has changed.
--
-- A contract: names, types and order of columns stay (tests/cases/store/lineage_views.yaml); a new column comes last. Names are full names, never ids of
-- tables of ours; times are timestamptz; a dataset with several names has the name that stands for all; what was hidden is left out.

create schema if not exists lineage;
comment on schema lineage is 'What Headwater holds, as views to read.';

-- JSON as PostgreSQL can hold it, or null. Events are not ours: a NUL, half a surrogate pair or a number that is too large must not end a query.
create or replace function lineage.read_json(body bytea) returns jsonb language plpgsql immutable parallel safe set search_path = pg_catalog as $$
declare
  text_ text := convert_from(body, 'UTF8');
begin
  if position('\u' in text_) > 0 then
    text_ := replace(text_, '\u0000', '\ufffd');
    text_ := regexp_replace(text_, '\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])', '\ufffd', 'g');
    text_ := regexp_replace(text_, '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}', '\ufffd', 'g');
  end if;
  return text_::jsonb;
exception when data_exception or program_limit_exceeded then
  return null;
end
$$;
comment on function lineage.read_json is 'JSON of a facet, or null where PostgreSQL cannot hold it.';

-- The members of an array, of anything else none.
create or replace function lineage.items(value jsonb) returns setof jsonb language sql immutable parallel safe as $$
  select jsonb_array_elements(case when jsonb_typeof(value) = 'array' then value else '[]'::jsonb end)
$$;
comment on function lineage.items is 'The members of a JSON array; of anything else none.';

-- The start of a period of a schedule (entities/time/calendar.py is the rule). Null for cron, tables of periods, and days of a zone that skipped a date:
-- their numbers follow from more than arithmetic.
create or replace function lineage.period_start(period jsonb, ordinal bigint) returns timestamptz language plpgsql stable parallel safe as $$
declare
  zone text := coalesce(period ->> 'tz', 'UTC');
  every text[] := regexp_match(coalesce(period ->> 'every', ''), '^(\d*)(minute|hour|day|week|month|quarter|year|mo|[mhdwqy])$');
  unit text := coalesce(jsonb_build_object('m', 'minute', 'h', 'hour', 'd', 'day', 'w', 'week', 'mo', 'month', 'q', 'quarter', 'y', 'year') ->> every[2], every[2]);
  many bigint := coalesce(nullif(every[1], '')::bigint, 1) * ordinal;
  later interval := coalesce((period ->> 'offset')::interval, '0');
  start date := coalesce((period ->> 'anchor')::date, '1970-01-01');
  local timestamp;
  instant timestamptz;
begin
  if every is null then
    return null;
  end if;
  if unit in ('minute', 'hour') then
    return (start::timestamp at time zone 'UTC') + later + make_interval(secs => many * case unit when 'hour' then 3600 else 60 end);
  end if;
  if zone in ('Pacific/Apia', 'Pacific/Fakaofo', 'Pacific/Enderbury', 'Pacific/Kanton', 'Pacific/Kiritimati', 'Pacific/Kwajalein', 'Kwajalein') then
    return null;
  end if;
  if unit = 'week' then
    start := start - ((extract(isodow from start)::int - 1 - coalesce(array_position(
      array['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'], period ->> 'starts'), 1) + 1 + 7) % 7);
  elsif unit in ('month', 'quarter', 'year') then
    start := date_trunc('month', start)::date;
  end if;
  local := (start + case unit
    when 'day' then make_interval(days => many::int)
    when 'week' then make_interval(days => 7 * many::int)
    when 'month' then make_interval(months => many::int)
    when 'quarter' then make_interval(months => 3 * many::int)
    else make_interval(months => 12 * many::int) end) + later;
  -- The first instant at which the local clock has come to it: a clock that is put back comes to a time twice, one that is put forward jumps over it.
  instant := local at time zone zone;
  return (select min(t) from unnest(array[instant - interval '2 hours', instant - interval '1 hour', instant - interval '30 minutes', instant]) t
          where t at time zone zone >= local);
end
$$;
comment on function lineage.period_start is 'When a period of a schedule begins; null where that cannot be computed in SQL (cron, tables of periods).';

create or replace view lineage.datasets as
select d.namespace, d.name, coalesce(s.tags, '{}') as tags, coalesce(s.owners, '{}') as owners, d.first_seen as first_seen_at,
       d.last_seen as last_seen_at, v.written_at as last_written_at, v.rows, v.bytes,
       array(select o.namespace || ':' || o.name from dataset_canonical a join datasets o on o.id = a.dataset_id
             where a.canonical_id = d.id and a.dataset_id <> d.id order by 1) as other_names
from datasets d
left join search_documents s on s.id = d.id
left join lateral (
  select w.written_at, w.rows, w.bytes from dataset_versions w
  where w.dataset_id in (select d.id union all select a.dataset_id from dataset_canonical a where a.canonical_id = d.id)
  order by w.written_at desc, w.id limit 1) v on true
where not d.hidden and not exists (select from dataset_canonical c where c.dataset_id = d.id and c.canonical_id <> d.id);
comment on view lineage.datasets is 'One row for each dataset.';

create or replace view lineage.jobs as
select j.namespace, j.name, p.namespace as parent_namespace, p.name as parent_name, coalesce(s.tags, '{}') as tags, coalesce(s.owners, '{}') as owners,
       j.first_seen as first_seen_at, j.last_seen as last_seen_at
from jobs j left join jobs p on p.id = j.parent_id left join search_documents s on s.id = j.id
where not j.hidden;
comment on view lineage.jobs is 'One row for each job.';

create or replace view lineage.runs as
select r.run_id, j.namespace as job_namespace, j.name as job_name,
       (array['NEW', 'OTHER', 'RUNNING', 'COMPLETED', 'ABORTED', 'FAILED'])[r.state + 1] as state,
       r.started_at, r.ended_at, r.parent_run_id, r.nominal_start as nominal_start_at, r.nominal_end as nominal_end_at, r.user_name, r.statement as statement_type,
       r.first_event_at, r.last_event_at
from runs r join jobs j on j.id = r.job_id
where not j.hidden;
comment on view lineage.runs is 'One row for each run and job of it.';

create or replace view lineage.versions as
select v.id as version_id, d.namespace as dataset_namespace, d.name as dataset_name, nullif(v.external_version, '') as external_version, v.run_id,
       j.namespace as job_namespace, j.name as job_name, v.written_at, v.rows, v.bytes, v.files, v.lifecycle, v.declared
from dataset_versions v
left join dataset_canonical c on c.dataset_id = v.dataset_id
join datasets d on d.id = coalesce(c.canonical_id, v.dataset_id)
left join jobs j on j.id = v.job_id
where not d.hidden;
comment on view lineage.versions is 'One row for each version of a dataset: what one run left behind in it.';

create or replace view lineage.edges as
select d.namespace as dataset_namespace, d.name as dataset_name, j.namespace as job_namespace, j.name as job_name,
       case e.direction when 'in' then 'READ' else 'WRITE' end as direction,
       case when bool_and(e.manual) then 'MANUAL' when bool_and(e.parsed) then 'PARSED_SQL' when bool_and(e.declared) then 'DECLARED' else 'REPORTED' end as origin,
       min(e.first_at) as first_seen_at, max(e.last_at) as last_seen_at, bool_and(e.intermittent) as intermittent
from live_edges e
left join dataset_canonical c on c.dataset_id = e.dataset_id
join datasets d on d.id = coalesce(c.canonical_id, e.dataset_id)
join jobs j on j.id = e.job_id
where not d.hidden and not j.hidden
group by d.namespace, d.name, j.namespace, j.name, e.direction;
comment on view lineage.edges is 'One row for each job that reads or writes a dataset now.';

create or replace view lineage.columns as
select d.namespace as dataset_namespace, d.name as dataset_name, f.position, f.name, f.type, f.description,
       array(
         select distinct t.tag from (
           select case when lower(coalesce(g.item ->> 'value', '')) in ('', 'true', lower(g.item ->> 'key')) then g.item ->> 'key' else (g.item ->> 'key') || ':' || (g.item ->> 'value') end as tag
           from lineage.items((
             select lineage.read_json(b.body) -> 'tags' from owner_facets o join facet_sets s on s.id = o.set_id and s.name = 'tags'
             join facet_bodies b on b.id = s.body_id where o.owner = d.id and not s.deleted
             order by o.last_at desc, o.last_digest desc, s.body_id desc limit 1)) g (item)
           where g.item ->> 'field' = f.name and g.item ->> 'key' <> '' and not exists (
             select from annotations a where a.owner = d.id and a.kind = 'tag' and a.field = f.name and a.key = lower(trim(g.item ->> 'key')))
           union all
           select coalesce(a.value ->> 'name', a.key) || coalesce(':' || nullif(a.value ->> 'value', ''), '')
           from annotations a where a.owner = d.id and a.kind = 'tag' and a.field = f.name and not a.deleted) t
         order by 1) as tags
from datasets d
cross join lateral (
  select s.body_id, s.deleted from owner_facets o join facet_sets s on s.id = o.set_id and s.name = 'schema'
  where o.owner = any(array(select d.id union all select a.dataset_id from dataset_canonical a where a.canonical_id = d.id))
  order by s.guess, o.last_at desc, o.last_digest desc, s.body_id desc limit 1) latest
join facet_bodies b on b.id = latest.body_id
cross join lateral (
  select i.place as position, i.item ->> 'name' as name, i.item ->> 'type' as type, i.item ->> 'description' as description
  from lineage.items(lineage.read_json(b.body) -> 'fields') with ordinality i (item, place)
  where jsonb_typeof(i.item -> 'name') = 'string') f
where not latest.deleted and not d.hidden and not exists (select from dataset_canonical c where c.dataset_id = d.id and c.canonical_id <> d.id);
comment on view lineage.columns is 'One row for each column of a dataset, by its latest schema. Fields inside a column are not listed.';

-- The evidence of highest precedence of each report, as in the walk (queries/lineage/edges.sql, live_column_sets); and what people drew.
create or replace view lineage.column_edges as
with ranked as (
  select c.job_id, c.target_id, c.set_id, c.origin, c.at, array_position(j.settled, c.report_id) as place, cardinality(j.settled) as settled,
         case when d.report_id is null then c.at >= coalesce(j.settled_at, '-infinity') else c.at >= coalesce(j.declared_at, d.latest) end as fresh,
         rank() over (partition by c.job_id, c.report_id, c.target_id order by c.origin) as precedence
  from stated_columns c left join jobs j on j.id = c.job_id
  left join (
    select r.job_id, r.report_id, max(r.first_at) over (partition by r.job_id) as latest from reports r where r.declaration
  ) d on d.job_id = c.job_id and d.report_id = c.report_id
), told as (
  select job_id, target_id, set_id, origin, max(at) as at from ranked where precedence = 1 group by 1, 2, 3, 4
  having bool_or(fresh) or intermittent(count(distinct place), min(place), max(place), max(settled))
  union all
  select job_id, dataset_id, set_id, 4, at from (
    select distinct on (job_id, dataset_id, direction) * from edge_changes order by job_id, dataset_id, direction, at desc, change_id desc) drawn
  where drawn.drawn and drawn.set_id is not null and drawn.direction = 'out'
), latest as (
  select job_id, target_id, set_id, origin, max(at) as at from told group by 1, 2, 3, 4
)
select s.namespace as source_namespace, s.name as source_name, nullif(e.edge ->> 2, '') as source_column,
       t.namespace as target_namespace, t.name as target_name, nullif(e.edge ->> 0, '') as target_column,
       j.namespace as job_namespace, j.name as job_name, nullif(e.edge ->> 3, '') as type, nullif(e.edge ->> 4, '') as subtype,
       (e.edge ->> 5)::boolean as masking, (array['EXPLICIT', 'COLUMN_LINEAGE', 'PARSED_SQL', 'MANUAL'])[l.origin] as origin, max(l.at) as last_seen_at
from latest l
join column_sets k on k.id = l.set_id
cross join lateral lineage.items(lineage.read_json(k.edges)) e (edge)
left join dataset_canonical sc on sc.dataset_id = (e.edge ->> 1)::uuid
join datasets s on s.id = coalesce(sc.canonical_id, (e.edge ->> 1)::uuid)
left join dataset_canonical tc on tc.dataset_id = l.target_id
join datasets t on t.id = coalesce(tc.canonical_id, l.target_id)
join jobs j on j.id = l.job_id
where not s.hidden and not t.hidden and not j.hidden
group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12;
comment on view lineage.column_edges is 'One row for each column that feeds a column, and how. A null column is the whole dataset.';

-- The dependencies that explicit lineage gives a job that has it; any other job: all it reads with all it writes.
create or replace view lineage.dependencies as
select s.namespace as source_namespace, s.name as source_name, t.namespace as target_namespace, t.name as target_name,
       j.namespace as job_namespace, j.name as job_name, pair.first_at as first_seen_at, pair.last_at as last_seen_at
from (
  select coalesce(ic.canonical_id, i.dataset_id) as source, coalesce(oc.canonical_id, o.dataset_id) as target, i.job_id,
         max(greatest(i.first_at, o.first_at)) as first_at, max(least(i.last_at, o.last_at)) as last_at
  from live_edges i join live_edges o on o.job_id = i.job_id and o.direction = 'out'
  left join dataset_canonical ic on ic.dataset_id = i.dataset_id left join dataset_canonical oc on oc.dataset_id = o.dataset_id
  where i.direction = 'in' and not i.explicit and not o.explicit
  group by 1, 2, 3
  union all
  select coalesce(sc.canonical_id, (e.edge ->> 1)::uuid), coalesce(tc.canonical_id, c.target_id), c.job_id, min(c.at), max(c.at)
  from (
    select r.job_id, r.target_id, r.set_id, min(r.at) as at from stated_columns r join jobs j on j.id = r.job_id
    where r.origin = 1 group by r.job_id, r.target_id, r.set_id, j.id
    having bool_or(r.at >= coalesce(j.settled_at, '-infinity'))
        or intermittent(count(distinct array_position(j.settled, r.report_id)), min(array_position(j.settled, r.report_id)), max(array_position(j.settled, r.report_id)),
                        max(cardinality(j.settled)))) c
  join jobs j on j.id = c.job_id and j.explicit_at is not null
  join column_sets k on k.id = c.set_id
  cross join lateral lineage.items(lineage.read_json(k.edges)) e (edge)
  left join dataset_canonical sc on sc.dataset_id = (e.edge ->> 1)::uuid
  left join dataset_canonical tc on tc.dataset_id = c.target_id
  group by 1, 2, 3) pair
join datasets s on s.id = pair.source join datasets t on t.id = pair.target join jobs j on j.id = pair.job_id
where not s.hidden and not t.hidden and not j.hidden;
comment on view lineage.dependencies is 'One row for each dataset that is made from a dataset, and the job that does it.';

create or replace view lineage.ancestors as
select a.kind as ancestor_kind, p.ancestor_id, ad.namespace as ancestor_namespace, ad.name as ancestor_name, a.run_id as ancestor_run_id,
       b.kind as descendant_kind, p.descendant_id, bd.namespace as descendant_namespace, bd.name as descendant_name, b.run_id as descendant_run_id, p.depth
from correlation_paths p
join correlation_items a on a.id = p.ancestor_id
join correlation_items b on b.id = p.descendant_id
left join datasets ad on ad.id = a.dataset_id
left join datasets bd on bd.id = b.dataset_id;
comment on view lineage.ancestors is 'One row for each run, item or content and each run, item or content that came before it: the closure, with the steps between.';

create or replace view lineage.instances as
select n.name as dataset, m.kind, m.ref, m.start_ as first_ordinal, m.end_ as end_ordinal,
       lineage.period_start(d.body -> 'period', m.start_) as begins_at, lineage.period_start(d.body -> 'period', m.end_) as ends_at
from status_marks m join entities n on n.id = m.entity_id
left join entity_declarations d on d.entity_id = n.id and d.until_at is null
where n.name is not null;
comment on view lineage.instances is 'One row for each stretch of instances of a dataset with a schedule and what holds of them.';

create or replace view lineage.instance_versions as
select n.name as dataset, v.start_ as first_ordinal, v.end_ as end_ordinal, lineage.period_start(d.body -> 'period', v.start_) as begins_at,
       lineage.period_start(d.body -> 'period', v.end_) as ends_at, v.produced_at, nullif(v.run, '') as run, v.code, v.fingerprint,
       v.row_count as rows, v.byte_count as bytes, v.complete
from instance_versions v join entities n on n.id = v.entity_id
left join entity_declarations d on d.entity_id = n.id and d.until_at is null
where n.name is not null;
comment on view lineage.instance_versions is 'One row for each stretch of instances that one run made; the one produced last is current.';

create or replace view lineage.usage as
select d.namespace, d.name, sum(u.reads)::bigint as reads, sum(u.writes)::bigint as writes, sum(u.reads_by_people)::bigint as reads_by_people,
       sum(u.reads_by_services)::bigint as reads_by_services, sum(u.reads_by_bi)::bigint as reads_by_bi,
       sum(u.reads_by_pipelines)::bigint as reads_by_pipelines, sum(u.reads_by_unknown)::bigint as reads_by_unknown,
       max(u.distinct_readers) as readers, max(u.distinct_people) as people, max(u.last_read_at) as last_read_at,
       max(u.last_read_by_person_at) as last_read_by_person_at, max(u.last_written_at) as last_written_at, max(u.at) as measured_at
from usage u left join dataset_canonical c on c.dataset_id = u.dataset_id
join datasets d on d.id = coalesce(c.canonical_id, u.dataset_id)
where not u.deleted and not d.hidden group by d.namespace, d.name;
comment on view lineage.usage is 'One row for each dataset whose usage was measured from a warehouse''s query log.';

create or replace view lineage.cost as
select case when d.id is null then 'JOB' else 'DATASET' end as kind, coalesce(d.namespace, j.namespace) as namespace, coalesce(d.name, j.name) as name, s.grain,
       s.executions, s.money, s.bytes_billed, s.slot_ms, s.duration_ms, s.credits, s.share, s.keep_month as keep_money_month, s.at as measured_at
from costs s left join datasets d on d.id = s.owner left join jobs j on j.id = s.owner
where not s.deleted and not coalesce(d.hidden, j.hidden, true);
comment on view lineage.cost is 'One row for each dataset, query shape, task or model whose cost was measured from a warehouse''s query log.';

create or replace view lineage.incidents as
select i.id as incident_id, i.state, i.reason, i.opened_by, i.opened_at, i.fixed_at, i.closed_at, i.closed_by, nullif(i.note, '') as note,
       array(select distinct n.name from incident_roots r join entities n on n.id = r.entity_id where r.incident = i.id order by 1) as datasets,
       array(select o.kind || ' ' || o.ref from incident_origins o where o.incident = i.id order by 1) as origins
from incidents i;
comment on view lineage.incidents is 'One row for each verdict that something is wrong.';

-- The meaning of each column; docs/reference/lineage-views.md is made from these.
comment on column lineage.datasets.namespace is 'The namespace of the dataset.';
comment on column lineage.datasets.name is 'The name of the dataset in its namespace.';
comment on column lineage.datasets.tags is 'Its tags and those of its columns, as `key` or `key:value`.';
comment on column lineage.datasets.owners is 'Its owners.';
comment on column lineage.datasets.first_seen_at is 'The time of the first event that names it.';
comment on column lineage.datasets.last_seen_at is 'The time of the last event that names it.';
comment on column lineage.datasets.last_written_at is 'When its newest version was written; null if no run has written it.';
comment on column lineage.datasets.rows is 'The rows that the newest version wrote.';
comment on column lineage.datasets.bytes is 'The bytes that the newest version wrote.';
comment on column lineage.datasets.other_names is 'Its other names, as `namespace:name`.';
comment on column lineage.jobs.namespace is 'The namespace of the job.';
comment on column lineage.jobs.name is 'The name of the job in its namespace.';
comment on column lineage.jobs.parent_namespace is 'The namespace of the job that it is part of.';
comment on column lineage.jobs.parent_name is 'The name of the job that it is part of.';
comment on column lineage.jobs.tags is 'Its tags.';
comment on column lineage.jobs.owners is 'Its owners.';
comment on column lineage.jobs.first_seen_at is 'The time of the first event that names it.';
comment on column lineage.jobs.last_seen_at is 'The time of the last event that names it.';
comment on column lineage.runs.run_id is 'The run.';
comment on column lineage.runs.job_namespace is 'The namespace of its job.';
comment on column lineage.runs.job_name is 'The name of its job.';
comment on column lineage.runs.state is 'NEW, OTHER, RUNNING, COMPLETED, ABORTED or FAILED.';
comment on column lineage.runs.started_at is 'When it started.';
comment on column lineage.runs.ended_at is 'When it ended; null while it runs.';
comment on column lineage.runs.parent_run_id is 'The run that it is part of.';
comment on column lineage.runs.nominal_start_at is 'The start of the period that it was scheduled for.';
comment on column lineage.runs.nominal_end_at is 'The end of the period that it was scheduled for.';
comment on column lineage.runs.user_name is 'Who ran it, if its events say so.';
comment on column lineage.runs.statement_type is 'The kind of SQL statement, if its events say so.';
comment on column lineage.runs.first_event_at is 'The time of its first event.';
comment on column lineage.runs.last_event_at is 'The time of its last event.';
comment on column lineage.versions.version_id is 'The version.';
comment on column lineage.versions.dataset_namespace is 'The namespace of the dataset.';
comment on column lineage.versions.dataset_name is 'The name of the dataset.';
comment on column lineage.versions.external_version is 'The version in the words of the storage: a snapshot, an offset, a fingerprint.';
comment on column lineage.versions.run_id is 'The run that wrote it.';
comment on column lineage.versions.job_namespace is 'The namespace of the job that wrote it.';
comment on column lineage.versions.job_name is 'The name of the job that wrote it.';
comment on column lineage.versions.written_at is 'When it was written.';
comment on column lineage.versions.rows is 'The rows that the run wrote.';
comment on column lineage.versions.bytes is 'The bytes that the run wrote.';
comment on column lineage.versions.files is 'The files that the run wrote.';
comment on column lineage.versions.lifecycle is 'What happened to the dataset: CREATE, OVERWRITE, DROP and so on.';
comment on column lineage.versions.declared is 'True if only a manifest says so, and no event observed it.';
comment on column lineage.edges.dataset_namespace is 'The namespace of the dataset.';
comment on column lineage.edges.dataset_name is 'The name of the dataset.';
comment on column lineage.edges.job_namespace is 'The namespace of the job.';
comment on column lineage.edges.job_name is 'The name of the job.';
comment on column lineage.edges.direction is 'READ or WRITE.';
comment on column lineage.edges.origin is 'REPORTED by runs, DECLARED by a manifest or a job event alone, PARSED_SQL: read from the SQL of a job that reports no dataset, or MANUAL: drawn by a person alone.';
comment on column lineage.edges.first_seen_at is 'When it was first reported.';
comment on column lineage.edges.last_seen_at is 'When it was last reported.';
comment on column lineage.edges.intermittent is 'Some of the latest complete runs of the job reported it, and others did not.';
comment on column lineage.columns.dataset_namespace is 'The namespace of the dataset.';
comment on column lineage.columns.dataset_name is 'The name of the dataset.';
comment on column lineage.columns.position is 'The place of the column, from 1.';
comment on column lineage.columns.name is 'The name of the column.';
comment on column lineage.columns.type is 'Its type, in the words of the producer.';
comment on column lineage.columns.description is 'Its description in the schema.';
comment on column lineage.columns.tags is 'Its own tags, as `key` or `key:value`; not those that it inherits.';
comment on column lineage.column_edges.source_namespace is 'The namespace of the source dataset.';
comment on column lineage.column_edges.source_name is 'The name of the source dataset.';
comment on column lineage.column_edges.source_column is 'The source column; null: the whole dataset.';
comment on column lineage.column_edges.target_namespace is 'The namespace of the target dataset.';
comment on column lineage.column_edges.target_name is 'The name of the target dataset.';
comment on column lineage.column_edges.target_column is 'The target column; null: the whole dataset.';
comment on column lineage.column_edges.job_namespace is 'The namespace of the job.';
comment on column lineage.column_edges.job_name is 'The name of the job.';
comment on column lineage.column_edges.type is 'DIRECT: the value comes from it; INDIRECT: a filter, join, sort or group uses it.';
comment on column lineage.column_edges.subtype is 'The kind of transformation, as OpenLineage names it.';
comment on column lineage.column_edges.masking is 'True if the value is masked or hashed on the way.';
comment on column lineage.column_edges.origin is 'EXPLICIT, COLUMN_LINEAGE (a facet), PARSED_SQL or MANUAL.';
comment on column lineage.column_edges.last_seen_at is 'When it was last reported.';
comment on column lineage.dependencies.source_namespace is 'The namespace of the source dataset.';
comment on column lineage.dependencies.source_name is 'The name of the source dataset.';
comment on column lineage.dependencies.target_namespace is 'The namespace of the target dataset.';
comment on column lineage.dependencies.target_name is 'The name of the target dataset.';
comment on column lineage.dependencies.job_namespace is 'The namespace of the job.';
comment on column lineage.dependencies.job_name is 'The name of the job.';
comment on column lineage.dependencies.first_seen_at is 'When it was first reported.';
comment on column lineage.dependencies.last_seen_at is 'When it was last reported.';
comment on column lineage.ancestors.ancestor_kind is 'RUN, ITEM (something a step handed out an id for) or CONTENT (a version by its fingerprint or snapshot).';
comment on column lineage.ancestors.ancestor_id is 'The id of the ancestor.';
comment on column lineage.ancestors.ancestor_namespace is 'The namespace of its dataset; null for a run.';
comment on column lineage.ancestors.ancestor_name is 'The name of its dataset; null for a run.';
comment on column lineage.ancestors.ancestor_run_id is 'The run itself, or the run that wrote it.';
comment on column lineage.ancestors.descendant_kind is 'RUN, ITEM or CONTENT.';
comment on column lineage.ancestors.descendant_id is 'The id of the descendant.';
comment on column lineage.ancestors.descendant_namespace is 'The namespace of its dataset; null for a run.';
comment on column lineage.ancestors.descendant_name is 'The name of its dataset; null for a run.';
comment on column lineage.ancestors.descendant_run_id is 'The run itself, or the run that wrote it.';
comment on column lineage.ancestors.depth is 'The fewest steps between the two.';
comment on column lineage.instances.dataset is 'The name of the dataset in its declaration.';
comment on column lineage.instances.kind is 'What holds: state, deleted, running, repairing, tainted, inherited, suspect, quarantined, wont_fix, repaired or stale.';
comment on column lineage.instances.ref is 'Of a state its name; of tainted and inherited the incident; of running the run; of repairing the plan.';
comment on column lineage.instances.first_ordinal is 'The number of the first period of the stretch.';
comment on column lineage.instances.end_ordinal is 'The number of the period after the last.';
comment on column lineage.instances.begins_at is 'When the first period begins; null if SQL cannot compute it.';
comment on column lineage.instances.ends_at is 'When the last period ends; null if SQL cannot compute it.';
comment on column lineage.instance_versions.dataset is 'The name of the dataset in its declaration.';
comment on column lineage.instance_versions.first_ordinal is 'The number of the first period.';
comment on column lineage.instance_versions.end_ordinal is 'The number of the period after the last.';
comment on column lineage.instance_versions.begins_at is 'When the first period begins; null if SQL cannot compute it.';
comment on column lineage.instance_versions.ends_at is 'When the last period ends; null if SQL cannot compute it.';
comment on column lineage.instance_versions.produced_at is 'When the run produced it.';
comment on column lineage.instance_versions.run is 'The run, as it was reported.';
comment on column lineage.instance_versions.code is 'The version of the code.';
comment on column lineage.instance_versions.fingerprint is 'The fingerprint of the content.';
comment on column lineage.instance_versions.rows is 'Its rows.';
comment on column lineage.instance_versions.bytes is 'Its bytes.';
comment on column lineage.instance_versions.complete is 'True if all that it read is recorded.';
comment on column lineage.usage.namespace is 'The namespace of the dataset.';
comment on column lineage.usage.name is 'The name of the dataset.';
comment on column lineage.usage.reads is 'How often it was read.';
comment on column lineage.usage.writes is 'How often it was written.';
comment on column lineage.usage.reads_by_people is 'Reads by people.';
comment on column lineage.usage.reads_by_services is 'Reads by services.';
comment on column lineage.usage.reads_by_bi is 'Reads by BI tools.';
comment on column lineage.usage.reads_by_pipelines is 'Reads by pipelines.';
comment on column lineage.usage.reads_by_unknown is 'Reads by users of an unknown kind.';
comment on column lineage.usage.readers is 'How many read it.';
comment on column lineage.usage.people is 'How many people read it.';
comment on column lineage.usage.last_read_at is 'When it was last read.';
comment on column lineage.usage.last_read_by_person_at is 'When a person last read it.';
comment on column lineage.usage.last_written_at is 'When it was last written.';
comment on column lineage.usage.measured_at is 'When this was measured.';
comment on column lineage.cost.kind is 'DATASET or JOB.';
comment on column lineage.cost.namespace is 'Its namespace.';
comment on column lineage.cost.name is 'Its name.';
comment on column lineage.cost.grain is 'table of a dataset; shape, task or model of a job.';
comment on column lineage.cost.executions is 'How often it was executed.';
comment on column lineage.cost.money is 'The cost in the currency of the log''s prices.';
comment on column lineage.cost.bytes_billed is 'The bytes that were billed.';
comment on column lineage.cost.slot_ms is 'Slot milliseconds.';
comment on column lineage.cost.duration_ms is 'Milliseconds of execution.';
comment on column lineage.cost.credits is 'Credits.';
comment on column lineage.cost.share is 'Its share of all, from 0 to 1.';
comment on column lineage.cost.keep_money_month is 'What keeping it costs in a month.';
comment on column lineage.cost.measured_at is 'When this was measured.';
comment on column lineage.incidents.incident_id is 'The incident.';
comment on column lineage.incidents.state is 'open, fixed or retracted.';
comment on column lineage.incidents.reason is 'Why, in the words of the person who opened it.';
comment on column lineage.incidents.opened_by is 'Who opened it.';
comment on column lineage.incidents.opened_at is 'When it was opened.';
comment on column lineage.incidents.fixed_at is 'When it was fixed: what is produced from then on is right.';
comment on column lineage.incidents.closed_at is 'When it was closed.';
comment on column lineage.incidents.closed_by is 'Who closed it.';
comment on column lineage.incidents.note is 'A note of the person who closed it.';
comment on column lineage.incidents.datasets is 'The datasets with a schedule whose instances it condemned.';
comment on column lineage.incidents.origins is 'The runs, versions and contents that it condemned.';

-- The role that may read the views. Roles belong to the whole server: another database of it may make the same one at the same moment.
do $$
begin
  if not exists (select from pg_roles where rolname = 'headwater_reader') then
    create role headwater_reader nologin;
  end if;
exception when duplicate_object or unique_violation or insufficient_privilege then
  null;
end
$$;
do $$
begin
  if exists (select from pg_roles where rolname = 'headwater_reader') then
    grant usage on schema lineage to headwater_reader;
    grant select on all tables in schema lineage to headwater_reader;
  end if;
end
$$;
