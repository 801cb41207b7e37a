-- Milliseconds between two events that a run announced (`headwater_heartbeat`); null: it announced none, and its silence means nothing.
alter table runs add column heartbeat_ms bigint;
