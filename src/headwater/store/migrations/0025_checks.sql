-- What checks of data found: the latest result of each check in each run. `direction`: the run read (in) or wrote (out) the dataset; `run`: the check
-- is about the run as a whole, and `dataset_id` is the id of its job. `result`: 0 passed, 1 failed as a warning, 2 failed.
create table checks (
  run_id     uuid not null,
  job_id     uuid not null,
  direction  text not null check (direction in ('in', 'out', 'run')),
  dataset_id uuid not null,
  name       text not null,
  field      text not null, -- the column; empty: the dataset as a whole
  at         timestamptz not null,
  digest     bytea not null,
  result     smallint not null check (result between 0 and 2),
  detail     text not null, -- what was expected and what was found
  primary key (run_id, job_id, direction, dataset_id, name, field)
);
create index checks_of_subject on checks (dataset_id, name, field, at);
create index checks_failed on checks (at desc, run_id, dataset_id, name, field) where result = 2;

-- What people say of versions that checks doubt: they are right as they are. Checks that failed later doubt them again.
create table fine_versions (
  version_id uuid primary key,
  at         timestamptz not null,
  author     text not null,
  note       text not null
);
