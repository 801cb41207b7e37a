-- What may be wrong of entities because of an incident that is about some columns only, as lineage had it when it was opened. `columns`: null where
-- it may be all of them. `since`: when the first of what was condemned was made; null where nobody knows.
create table incident_columns (
  incident  uuid not null,
  entity_id int  not null,
  columns   text[],
  since     timestamptz,
  primary key (incident, entity_id)
);

-- Between which entities no wrong column is carried: whoever used the one is not wrong because of that.
create table incident_unaffected (
  incident      uuid not null,
  upstream_id   int  not null,
  downstream_id int  not null,
  primary key (incident, upstream_id, downstream_id)
);
create index incident_unaffected_of on incident_unaffected (downstream_id);
