-- The views of the schema `lineage` ask this of edges that are parsed from SQL. Their reader may see no table, and may have any search path: so the answer
-- is the owner's, and its names are bound here.
create or replace function counts_as_parsed(job uuid, as_of timestamptz) returns boolean
language sql stable security definer
return (select s.parsed_sql from server_state s)
  and not exists (select from edges o where o.job_id = job and (o.last_at is not null or o.declared_at is not null) and o.first_at <= as_of)
  and not exists (select from jobs j join edges p on p.job_id = j.parent_id where j.id = job and p.first_at <= as_of)
  and not exists (select from jobs j join foreign_edges p on p.job_id = j.parent_id where j.id = job and p.first_at <= as_of);
