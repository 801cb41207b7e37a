-- What is kept for how long, and what cannot be undone of it.

-- `identity_behind`: the rules changed and no rebuild has applied them to the past yet.
alter table server_state add column identity_behind boolean not null default false;
-- Events before this time were dropped from the log: a rebuild cannot make again what they told.
alter table server_state add column log_dropped_before timestamptz;
