create table made_named (id int, label string default 'none', total double) using parquet;
insert into made_named by name select amount as total, person as id from orders;
insert into made_named (total, id) select age, id from people;
insert into made_named table made_named;
drop table made_named
