drop index status_changes_of;

-- What held of an entity at a time is told from this index alone: its changes lie as far apart in the table as the times at which they were said.
-- They stand here in the order in which they are gone through, so that nothing is sorted.
create index status_changes_of on status_changes (entity_id, seq, added) include (kind, ref, start_, end_);
