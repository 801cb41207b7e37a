-- Statements of dbt that run below a model and name no connection (docs/decisions/052): which tables they read is known once the model's run reports
-- its output, before or after. `job_id`, `report_id`: the model and its run. `body_id`: the statement's `sql` facet in `facet_bodies`.
create table report_statements (
  job_id    uuid        not null,
  report_id uuid        not null,
  body_id   uuid        not null,
  first_at  timestamptz not null,
  last_at   timestamptz not null,
  primary key (job_id, report_id, body_id)
) with (fillfactor = 90);

-- Statements in the log have rows after a rebuild. Where months of the log were dropped, it would lose what they reported.
update server_state set rebuild_needed = rebuild_needed or (log_dropped_before is null and exists (
  select from jobs j join jobs m on m.id = j.parent_id where m.name like 'model.%' and j.name like m.name || '.sql.%'));
