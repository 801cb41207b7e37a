create table made_insert (id int, name string) using parquet;
insert into made_insert select no, kind from orders;
insert overwrite made_insert select id, name from people;
truncate table made_insert;
alter table made_insert rename to made_insert2;
drop table made_insert2
