-- What an incident condemned beside instances: a run (its id), one version of a dataset (its id), or a content (its fingerprint).
-- Who used it is found by recorded reads whenever somebody asks, so nothing else is stored.
create table incident_origins (
  incident uuid not null,
  kind     text not null check (kind in ('RUN', 'VERSION', 'CONTENT')),
  ref      text not null,
  columns  jsonb not null default '[]', -- names; empty: all
  primary key (incident, kind, ref)
);

-- The instances that a run made.
create index instance_versions_by_run on instance_versions (run) where run <> '';
