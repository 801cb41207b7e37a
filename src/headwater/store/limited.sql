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

create temp view reports as select * from stored.reports t where t.job_id in (select id from visible_jobs);

create temp view report_datasets as
select * from stored.report_datasets t
where t.job_id in (select id from visible_jobs) and t.dataset_id in (select id from visible_datasets);

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
where t.name in ('schema', 'documentation', 'ownership', 'dataSource', 'storage', 'tags', 'datasetType', 'jobType', 'sourceCodeLocation')
  and (t.id in (select set_id from pg_temp.owner_facets)) is true;

create temp view facet_bodies as
select * from stored.facet_bodies t where (t.id in (select body_id from pg_temp.facet_sets)) is true;

create temp view report_columns as
select * from stored.report_columns t
where t.job_id in (select id from visible_jobs) and t.target_id in (select id from visible_objects);

create temp view column_sets as
select * from stored.column_sets t where (t.id in (select set_id from pg_temp.report_columns)) is true;

create temp view annotations as select * from stored.annotations t where t.owner in (select id from visible_objects);

-- Documents of jobs have the words of their SQL: a search would tell of words that the reader may not read.
create temp view search_documents as
select * from stored.search_documents t where t.type = 'DATASET' and t.id in (select id from visible_datasets);

create temp view usage as select * from stored.usage t where t.dataset_id in (select id from visible_datasets);

create temp view costs as select * from stored.costs t where t.owner in (select id from visible_objects);

create temp view recurrence as select * from stored.recurrence t where t.job_id in (select id from visible_jobs);
