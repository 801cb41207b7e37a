-- Who ran a run and what kind of statement it was, where its events tell; and the log by time of arrival, for questions about a window of it.
alter table runs add column user_name text, add column statement text;
create index events_by_arrival on events using brin (received_at) with (autosummarize = on);
update server_state set rebuild_needed = rebuild_needed or exists (select 1 from events);
