-- Temporary views under the names of the tables, which every statement of their connection meets in the tables' place.
-- `stored.` is the schema of the tables. A relation without a view here is empty to them (limited.py), new ones too, until it gets one.
-- Nothing is taken from a job that has ever read or written a dataset that the reader may not see: its SQL, its name and its runs would tell of it.

-- A dataset is visible by each of its names if one of them, or a tag that a person gave one of them, fits the limits.
create temp view visible_datasets as
select d.id, d.namespace
from stored.datasets d left join stored.dataset_canonical c on c.dataset_id = d.id
where coalesce(c.canonical_id, d.id) in (
  select coalesce(mc.canonical_id, m.id)
  from stored.datasets m left join stored.dataset_canonical mc on mc.dataset_id = m.id
  where m.namespace like any (current_setting('headwater.namespaces')::text[])
     or m.id in (
       select a.owner from stored.annotations a
       where a.kind = 'tag' and a.field = '' and not a.deleted
         and (a.key = any (current_setting('headwater.tags')::text[])
              or lower(a.key || ':' || (a.value->>'value')) = any (current_setting('headwater.tags')::text[]))));

create temp view visible_jobs as
select j.id, j.namespace
from stored.jobs j
where (j.namespace like any (current_setting('headwater.namespaces')::text[])
       or exists (select from stored.reported_edges e where e.job_id = j.id))
  and not exists (select from stored.reported_edges e where e.job_id = j.id and e.dataset_id not in (select id from visible_datasets))
  and not exists (select from stored.foreign_edges f where f.reporter_id = j.id and f.dataset_id not in (select id from visible_datasets))
  and not exists (select from stored.edge_changes c where c.job_id = j.id and c.dataset_id not in (select id from visible_datasets));

create temp view visible_objects as
select id from visible_datasets union all select id from visible_jobs;

-- The jobs next to visible datasets that are left out of the lineage.
create temp view left_out_edges as
select distinct coalesce(c.canonical_id, e.dataset_id) as dataset_id, e.job_id
from stored.reported_edges e left join stored.dataset_canonical c on c.dataset_id = e.dataset_id
where e.dataset_id in (select id from visible_datasets) and e.job_id not in (select id from visible_jobs);

create temp view server_state as
select only_one, generation, '[]'::jsonb as identity, false as rebuild_needed, false as identity_behind, log_dropped_before, null::text as secret_key_id,
       parsed_sql, bytes_digests_until
from stored.server_state;

create temp view latest_changes as select * from stored.latest_changes;

-- The times of this server's installation and of its looks for alerts are about no dataset.
create temp view migrations as select * from stored.migrations;

create temp view alert_state as
select only_one, looked_at, seen_until, measured_until, null::text as trouble from stored.alert_state;

create temp view datasets as select * from stored.datasets t where t.id in (select id from visible_datasets);

create temp view dataset_links as
select * from stored.dataset_links t
where t.dataset_id in (select id from visible_datasets) and t.alias_id in (select id from visible_datasets);

create temp view dataset_canonical as
select * from stored.dataset_canonical t
where t.dataset_id in (select id from visible_datasets) and t.canonical_id in (select id from visible_datasets);

create temp view jobs as select * from stored.jobs t where t.id in (select id from visible_jobs);

create temp view namespaces as
select * from stored.namespaces t where t.name in (select namespace from visible_datasets union all select namespace from visible_jobs);

create temp view runs as select * from stored.runs t where t.job_id in (select id from visible_jobs);

-- Events of the runs of one visible job, without facets: their text may name anything. The inputs and outputs are those of the run that were reported around then,
-- by the names that they have now. An event of a run of several jobs, of a job or of a dataset alone is left out: its row does not tell of which it is.
create temp view events as
select t.event_time, t.digest, t.kind, t.event_type, t.run_id, t.producer, t.received_at, convert_to(jsonb_build_object(
    'eventType', t.event_type, 'eventTime', to_char(t.event_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'producer', t.producer,
    'run', jsonb_build_object('runId', coalesce(r.external_id, t.run_id::text)), 'job', jsonb_build_object('namespace', j.namespace, 'name', j.name),
    'inputs', coalesce(d.inputs, '[]'), 'outputs', coalesce(d.outputs, '[]'))::text, 'UTF8') as body, t.arrived
from stored.events t
join stored.runs r on r.run_id = t.run_id and r.job_id in (select id from visible_jobs)
join stored.jobs j on j.id = r.job_id
left join lateral (
  select jsonb_agg(n.name order by n.name) filter (where n.direction = 'in') as inputs, jsonb_agg(n.name order by n.name) filter (where n.direction = 'out') as outputs
  from (
    select distinct d.direction, jsonb_build_object('namespace', s.namespace, 'name', s.name) as name
    from stored.report_datasets d left join stored.dataset_canonical c on c.dataset_id = d.dataset_id
    join stored.datasets s on s.id = coalesce(c.canonical_id, d.dataset_id)
    where d.job_id = r.job_id and d.report_id = t.run_id and d.first_at <= t.event_time and d.last_at >= t.event_time
      and d.dataset_id in (select id from visible_datasets)) n) d on true
where t.run_id is not null and not exists (select from stored.runs o where o.run_id = t.run_id and o.job_id <> r.job_id);

-- The text of a warning may quote the event.
create temp view warnings as
select w.event_time, w.digest, w.position, w.producer, w.code, ''::text as place, ''::text as message from stored.warnings w
where exists (select from pg_temp.events e where e.digest = w.digest and e.event_time = w.event_time);

create temp view reports as select * from stored.reports t where t.job_id in (select id from visible_jobs);

create temp view report_datasets as
select * from stored.report_datasets t
where t.job_id in (select id from visible_jobs) and t.dataset_id in (select id from visible_datasets);

create temp view stated_datasets as
select * from stored.stated_datasets t
where t.job_id in (select id from visible_jobs) and t.dataset_id in (select id from visible_datasets);

create temp view report_snapshots as select * from stored.report_snapshots t where t.job_id in (select id from visible_jobs);

create temp view report_subsets as
select * from stored.report_subsets t
where t.job_id in (select id from visible_jobs) and t.dataset_id in (select id from visible_datasets);

create temp view edges as
select * from stored.edges t where t.job_id in (select id from visible_objects) and t.dataset_id in (select id from visible_datasets);

create temp view live_edges as
select * from stored.live_edges t where t.job_id in (select id from visible_objects) and t.dataset_id in (select id from visible_datasets);

create temp view reported_edges as
select * from stored.reported_edges t where t.job_id in (select id from visible_objects) and t.dataset_id in (select id from visible_datasets);

create temp view edge_changes as
select * from stored.edge_changes t where t.job_id in (select id from visible_objects) and t.dataset_id in (select id from visible_datasets);

-- A version of a visible dataset that a job out of sight wrote is a version without a run.
create temp view dataset_versions as
select t.id, t.dataset_id, case when v.id is not null then t.run_id end as run_id, v.id as job_id, t.external_version, t.declared, t.first_at, t.written_at,
       t.schema_id, t.schema_at, t.schema_digest, t.lifecycle, t.rows, t.bytes, t.files, t.checkpoint
from stored.dataset_versions t left join visible_jobs v on v.id = t.job_id
where t.dataset_id in (select id from visible_datasets);

create temp view owner_facets as select * from stored.owner_facets t where t.owner in (select id from visible_objects);

-- Facets whose content is about their owner alone. A text of SQL, lineage, other names and whatever producers make up may name other datasets.
-- `is true`: the subquery is hashed once for a statement, and not run again for each set that is looked up.
create temp view facet_sets as
select * from stored.facet_sets t
where t.name in ('schema', 'documentation', 'ownership', 'dataSource', 'storage', 'tags', 'datasetType', 'jobType', 'sourceCodeLocation',
                 'headwater_inheritance')
  and (t.id in (select set_id from pg_temp.owner_facets)) is true;

-- The partitions and heirs that a catalog lists of a table: those that are visible wherever this list is.
create function pg_temp.visible_children(list uuid, body bytea) returns bytea language plpgsql stable as $$
begin
  return (
    select convert_to(jsonb_build_object('children', coalesce(jsonb_agg(child), '[]'))::text, 'UTF8')
    from jsonb_array_elements_text(convert_from(body, 'UTF8')::jsonb->'children') child
    where not exists (
      select from stored.facet_sets s join pg_temp.owner_facets o on o.set_id = s.id join stored.datasets d on d.id = o.owner
      where s.name = 'headwater_inheritance' and s.body_id = list and not exists (
        select from stored.datasets n where n.namespace = d.namespace and n.name = child and n.id in (select id from pg_temp.visible_datasets))));
exception when others then
  return '{"children": []}';
end $$;

create temp view facet_bodies as
select t.id, case when position('"children"'::bytea in t.body) > 0 and t.id in (select body_id from stored.facet_sets where name = 'headwater_inheritance')
                  then pg_temp.visible_children(t.id, t.body) else t.body end as body
from stored.facet_bodies t where (t.id in (select body_id from pg_temp.facet_sets)) is true;

create temp view report_columns as
select * from stored.report_columns t
where t.job_id in (select id from visible_jobs) and t.target_id in (select id from visible_objects);

create temp view stated_columns as
select * from stored.stated_columns t
where t.job_id in (select id from visible_jobs) and t.target_id in (select id from visible_objects);

create temp view column_sets as
select * from stored.column_sets t where (t.id in (select set_id from pg_temp.report_columns)) is true;

-- Another name that a person took back is a name of another dataset again.
create temp view annotations as
select * from stored.annotations t
where t.owner in (select id from visible_objects)
  and (t.kind <> 'alias' or t.value->>'id' in (select id::text from visible_datasets));

create temp view visible_nodes as
select 'dataset:' || d.namespace || ':' || d.name as node from stored.datasets d where d.id in (select id from visible_datasets)
union all select 'job:' || j.namespace || ':' || j.name from stored.jobs j where j.id in (select id from visible_jobs);

-- Changes by people of what is visible, whose other end is too.
create temp view changes as
select * from stored.changes t
where t.node in (select node from visible_nodes) and (t.other = '' or t.other in (select node from visible_nodes));

-- A producer may write what no JSON of PostgreSQL is.
create function pg_temp.field_of(body bytea, field text) returns text language plpgsql stable as $$
begin
  return convert_from(body, 'UTF8')::json->>field;
exception when others then
  return null;
end $$;

-- Data sources as the facets of visible datasets name them.
create temp view sources as
select n.name, n.url, min(n.first_at) as first_seen from (
  select pg_temp.field_of(b.body, 'name') as name, coalesce(pg_temp.field_of(b.body, 'uri'), '') as url, o.first_at
  from pg_temp.owner_facets o join stored.facet_sets s on s.id = o.set_id and s.name = 'dataSource' join stored.facet_bodies b on b.id = s.body_id) n
where n.name is not null group by n.name, n.url;

-- Documents of jobs have the words of their SQL: a search would tell of words that the reader may not read.
create temp view search_documents as
select * from stored.search_documents t where t.type = 'DATASET' and t.id in (select id from visible_datasets);

create temp view usage as select * from stored.usage t where t.dataset_id in (select id from visible_datasets);

create temp view costs as select * from stored.costs t where t.owner in (select id from visible_objects);

create temp view query_counts as select * from stored.query_counts t where t.job_id in (select id from visible_jobs);

create temp view recurrence as select * from stored.recurrence t where t.job_id in (select id from visible_jobs);

-- An entity is visible by the datasets that all its declarations store it in; without any, by the jobs that make it.
create temp view visible_makers as
select text from stored.jobs j cross join lateral unnest(array[
    j.namespace || '/' || j.name, 'airflow://' || j.namespace || '/' || j.name,
    j.namespace || '/' || replace(j.name, '.', '/'), 'airflow://' || j.namespace || '/' || replace(j.name, '.', '/')]) as text
where j.id in (select id from visible_jobs);

create temp view visible_entities as
select d.entity_id from stored.entity_declarations d
group by d.entity_id having bool_and(
  case when jsonb_array_length(coalesce(d.body->'stored_in', '[]')) > 0 then not exists (
    select from jsonb_array_elements(d.body->'stored_in') s
    where not s->>'namespace' like any (current_setting('headwater.namespaces')::text[])
      and (s->>'namespace', s->>'name') not in (select n.namespace, n.name from stored.datasets n where n.id in (select id from visible_datasets)))
  else jsonb_array_length(coalesce(d.body->'produced_by', '[]')) > 0 and not exists (
    select from jsonb_array_elements(d.body->'produced_by') p where p->>'job' not in (select text from visible_makers))
  end);

create temp view visible_entity_names as
select distinct d.body->>'entity' as name from stored.entity_declarations d where d.entity_id in (select entity_id from visible_entities);

create temp view entities as select * from stored.entities t where t.id in (select entity_id from visible_entities);

create temp view entity_applies as
select t.number, t.id, t.at, ''::text as author, '{}'::jsonb as changes from stored.entity_applies t;

-- A state that needs an entity out of sight is shown without needs: so what is computed from needs (readiness) is no answer, and what is stored is.
create temp view entity_declarations as
select t.entity_id, t.from_at, t.until_at, t.apply, (t.body - 'renamed_from' - 'produced_by') || jsonb_strip_nulls(jsonb_build_object(
    'produced_by', (
      select jsonb_agg(p) from jsonb_array_elements(t.body->'produced_by') p where p->>'job' in (select text from visible_makers)),
    'states', (
      select jsonb_agg(case when exists (
          select from jsonb_path_query(s.state, '$.depends_on[*].keyvalue() ? (@.key != "any_of").key') need
          where need #>> '{}' not in (select name from visible_entity_names)
          union all select from jsonb_path_query(s.state, '$.depends_on[*].any_of[*].keyvalue().key') need
          where need #>> '{}' not in (select name from visible_entity_names)) then s.state - 'depends_on' else s.state end order by s.place)
      from jsonb_array_elements(t.body->'states') with ordinality s (state, place)))) as body
from stored.entity_declarations t where t.entity_id in (select entity_id from visible_entities);

create temp view visible_runs as select t.run_id::text as ref from stored.runs t where t.job_id in (select id from visible_jobs);

-- An incident is visible by an instance, a run or a version that it is about or that is wrong because of it; its words only if all that it is about is visible.
create temp view visible_incidents as
select m.ref::uuid as id from stored.status_marks m
where m.kind in ('tainted', 'inherited', 'repaired', 'wont_fix') and m.kind <> 'state' and m.entity_id in (select entity_id from visible_entities)
union select r.incident from stored.incident_roots r where r.entity_id in (select entity_id from visible_entities)
union select o.incident from stored.incident_origins o where o.kind = 'RUN' and o.ref in (select ref from visible_runs)
union select o.incident from stored.incident_origins o join stored.dataset_versions v on v.id::text = o.ref
  where o.kind = 'VERSION' and v.dataset_id in (select id from visible_datasets);

create temp view incident_roots as select * from stored.incident_roots t where t.entity_id in (select entity_id from visible_entities);

create temp view incident_columns as select * from stored.incident_columns t where t.entity_id in (select entity_id from visible_entities);

create temp view incident_unaffected as
select * from stored.incident_unaffected t
where t.upstream_id in (select entity_id from visible_entities) and t.downstream_id in (select entity_id from visible_entities);

create temp view incident_origins as
select * from stored.incident_origins t
where t.kind = 'RUN' and t.ref in (select ref from visible_runs)
   or t.kind = 'VERSION' and t.ref in (select v.id::text from stored.dataset_versions v where v.dataset_id in (select id from visible_datasets));

create temp view incidents as
select t.id, t.opened_seq, t.opened_at, case when whole.yes then t.opened_by else '' end as opened_by,
       case when whole.yes then t.reason else 'opened about data that you may not see' end as reason, t.state, t.fixed_at, t.closed_at,
       case when whole.yes then t.closed_by end as closed_by, case when whole.yes then t.note else '' end as note
from stored.incidents t cross join lateral (
  select not exists (select from stored.incident_roots r where r.incident = t.id and r.entity_id not in (select entity_id from visible_entities))
     and (select count(*) from stored.incident_origins o where o.incident = t.id)
       = (select count(*) from pg_temp.incident_origins o where o.incident = t.id) as yes) whole
where t.id in (select id from visible_incidents);

-- Reports refer to a state, an incident or a plan, or to a run if it is visible. Names of checks and people are left out.
create temp view status_marks as
select t.entity_id, t.end_, t.kind, case when t.kind in ('running', 'suspect', 'quarantined') and t.ref not in (select ref from visible_runs)
  then '' else t.ref end as ref, t.start_
from stored.status_marks t where t.entity_id in (select entity_id from visible_entities);

create temp view status_changes as
select t.entity_id, t.seq, t.kind, case when t.kind in ('running', 'suspect', 'quarantined') and t.ref not in (select ref from visible_runs)
  then '' else t.ref end as ref, t.start_, t.end_, t.added
from stored.status_changes t where t.entity_id in (select entity_id from visible_entities);

create temp view status_reports as
select t.seq, t.recorded_at, t.key, t.entity_id, t.what, case when t.ref in (select ref from visible_runs) then t.ref else '' end as ref, t.first_, t.end_,
       t.happened_at, ''::text as actor, ''::text as reason, jsonb_build_object('instances', t.body->'instances') as body
from stored.status_reports t where t.entity_id in (select entity_id from visible_entities);

create temp view instance_reads as
select t.* from stored.instance_reads t where t.upstream_id in (select entity_id from visible_entities)
  and t.seq in (select v.seq from stored.instance_versions v where v.entity_id in (select entity_id from visible_entities));

create temp view instance_versions as
select t.entity_id, t.end_, t.seq, t.start_, t.produced_at, case when t.run in (select ref from visible_runs) then t.run else '' end as run,
       null::text as code, t.fingerprint, null::jsonb as storage, t.row_count, t.byte_count,
       t.complete and not exists (
         select from stored.instance_reads r where r.seq = t.seq and r.upstream_id not in (select entity_id from visible_entities)) as complete
from stored.instance_versions t where t.entity_id in (select entity_id from visible_entities);

-- The expected and found values of a check are in words of the producer, and left out.
create temp view checks as
select t.run_id, t.job_id, t.direction, t.dataset_id, t.name, t.field, t.at, t.digest, t.result, ''::text as detail, t.version, t.part
from stored.checks t where t.job_id in (select id from visible_jobs) and t.dataset_id in (select id from visible_objects);

create temp view fine_versions as
select t.version_id, t.at, ''::text as author, ''::text as note from stored.fine_versions t
where t.version_id in (select v.id from stored.dataset_versions v where v.dataset_id in (select id from visible_datasets));

-- A plan is visible by an instance that it makes right. The numbers of its items count those out of sight (answer/plans/visible_items.py).
create temp view plans as
select t.id, t.created_at, case when whole.yes then t.created_by else '' end as created_by, case when whole.yes then t.reason else '' end as reason,
       t.state, t.changed_at, t.seq, t.declared_at, t.items, jsonb_strip_nulls(jsonb_build_object(
         'between', t.request->'between', 'tz', t.request->'tz',
         'incident', case when t.request->>'incident' in (select id::text from visible_incidents) then t.request->'incident' end)) as request,
       '{}'::jsonb as inputs
from stored.plans t cross join lateral (
  select bool_and(k in (select name from visible_entity_names)) as yes, bool_or(k in (select name from visible_entity_names)) as part
  from jsonb_object_keys(t.inputs->'wrong') k) whole
where whole.part;

create temp view plan_items as
select t.plan, t.number, t.state, t.attempt, ''::text as worker, case when t.run in (select ref from visible_runs) then t.run else '' end as run,
       ''::text as note, t.began_at, t.lease_until, t.ended_at
from stored.plan_items t where t.plan in (select id from pg_temp.plans);

create temp view plan_workers as
select 'worker ' || row_number() over (order by t.name) as name, t.plan, t.seen_at, t.expires_at from stored.plan_workers t
where t.plan is null or t.plan in (select id from pg_temp.plans);

-- Alerts, as the first of their troubles that is visible. Words of people, producers, rules and addresses are not said; messages name addresses.
create temp view alert_members as
select t.id, t.alert_id, t.event, t.subject, t.label, t.node, t.since, t.until,
       case when t.event in ('late', 'cost_jump', 'slower') then t.text else '' end as text, ''::text as look, '{}'::text[] as rules, t.decided_at
from stored.alert_members t where t.node in (select id from visible_objects);

create temp view alerts as
select t.id, m.event, m.subject, m.label, m.node, m.since, m.until, m.text, m.look, t.decided_at, '{}'::text[] as unaddressed, t.acknowledged_at,
       case when t.acknowledged_at is not null then '' end as acknowledged_by, ''::text as note, t.muted_until,
       case when t.muted_until is not null then '' end as muted_by
from stored.alerts t cross join lateral (
  select * from pg_temp.alert_members m where m.alert_id = t.id order by m.node is distinct from t.node, m.since, m.id limit 1) m;
