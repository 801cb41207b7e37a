-- Events are identified by their canonical form from now on. Those of the log keep the digest of their bytes: an event that may be one of them is looked up
-- by it too. A day is left for servers of the version before, which write on during an upgrade.
-- `bytes_digests_until`: events that arrived later have no digest of their bytes; null: none has.
alter table server_state add column bytes_digests_until timestamptz;
update server_state set bytes_digests_until = now() + interval '1 day' where exists (select from events);
