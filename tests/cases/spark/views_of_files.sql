create or replace temp view seen_people (id int, city string, age int) using parquet options (path '{land}/people');
create global temporary view seen_orders using parquet options ('path' = '{land}/orders', 'mergeSchema' = true);
create global temp view seen_old as select id, city from seen_people where age > 30;
create table made_seen using parquet as select p.id, upper(g.city) as city, o.kind from seen_people p join global_temp.seen_old g on g.id = p.id join global_temp.seen_orders o on o.person = p.id;
drop view global_temp.seen_old;
drop view global_temp.seen_orders;
drop view seen_people
