create or replace temporary function made_twice(x double) returns double return x * 2;
create or replace temporary function made_rank(k string) returns double return (select max(made_twice(amount)) from orders where kind = k);
create table made_ranked using parquet as select no, made_rank(kind) as top, made_twice(amount) as twice from orders;
drop table made_ranked
