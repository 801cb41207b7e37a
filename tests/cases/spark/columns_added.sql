create table made_wide (id int, kind string default 'none') using parquet;
insert into made_wide (id) select id from people where age > 1;
alter table made_wide add columns (city string);
insert into made_wide select id, name, city from people;
drop table made_wide
