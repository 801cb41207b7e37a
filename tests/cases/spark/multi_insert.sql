create table made_left (k int, v string) using parquet;
create table made_right (k int, v string) using parquet;
from people
insert into made_left select id, name
insert overwrite table made_right select age, city where age > 30;
drop table made_left;
drop table made_right
