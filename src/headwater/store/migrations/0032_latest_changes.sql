-- The last change of each kind that no event of the log reports, for pages that show it. One row for each kind of table and each session that changed
-- one, so that no two transactions write the same row. The number is one of arrival, drawn under a lock that is held until the transaction ends.
create table latest_changes (
  kind    text        not null,
  session int         not null,
  arrived bigint      not null,
  at      timestamptz not null,
  primary key (kind, session)
) with (fillfactor = 50);

create function note_change() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(1751474532, 15);
  insert into latest_changes (kind, session, arrived, at) values (tg_argv[0], pg_backend_pid(), nextval('arrivals'), clock_timestamp())
  on conflict (kind, session) do update set arrived = excluded.arrived, at = excluded.at;
  return null;
end
$$;

create trigger status_reports_noted after insert on status_reports for each statement execute function note_change('reports');
create trigger incidents_noted after insert or update on incidents for each statement execute function note_change('verdicts');
create trigger fine_versions_noted after insert or delete on fine_versions for each statement execute function note_change('verdicts');
create trigger plans_noted after insert or update on plans for each statement execute function note_change('plans');
create trigger plan_items_noted after insert or update or delete on plan_items for each statement execute function note_change('plans');
create trigger changes_noted after insert on changes for each statement execute function note_change('metadata');
create trigger entity_applies_noted after insert on entity_applies for each statement execute function note_change('schedules');
create trigger audit_noted after insert on audit for each statement execute function note_change('settings');
create trigger server_state_noted after update of generation on server_state for each statement execute function note_change('rebuild');
