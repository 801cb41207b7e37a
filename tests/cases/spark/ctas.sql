create table made_ctas using parquet as select id, lower(name) as name from people;
drop table made_ctas
