create temporary view in_files using parquet options (path '{land}/people');
insert overwrite directory '{out}/copied' using json select id, upper(name) as shout from in_files;
cache table kept_rows as select person, count(*) as n from orders group by person;
insert overwrite directory '{out}/counted' using parquet select f.id, k.n from in_files f join kept_rows k on f.id = k.person;
uncache table kept_rows
