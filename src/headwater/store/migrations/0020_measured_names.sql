-- Columns of measurements have the names of the facets' fields.
alter table usage rename column readers to distinct_readers;
alter table usage rename column people to distinct_people;
alter table lineage_quality rename column told_executions to named_executions;
alter table lineage_quality rename column told_agreed to named_agreed;
alter table lineage_quality rename column told_only to named_only;
