drop index instance_reads_of;

-- Who read some instances is told from this index, whatever else of them was read before or after.
create index instance_reads_of on instance_reads (upstream_id, end_, start_);
