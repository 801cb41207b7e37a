-- Events that say that a run failed or was aborted, by time: few among many, counted by day for the overview.
create index events_failed on events (event_time) where event_type in ('FAIL', 'ABORT') and run_id is not null;
