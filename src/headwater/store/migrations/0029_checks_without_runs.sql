-- Results of checks that came in an event about a dataset, without a run: `direction` is `event`, `run_id` the id of the event, `job_id` that of the dataset.
-- `version`, `part`: what the event names; empty if nothing.
alter table checks add column version text not null default '', add column part text not null default '';
alter table checks drop constraint checks_direction_check, add constraint checks_direction_check check (direction in ('in', 'out', 'run', 'event'));
