create or replace temporary function made_label(a string, b int) returns string return concat(a, cast(b as string));
create or replace temporary function made_orders(p int) returns table (no int, twice double) return select no, amount * 2 from orders where person = p;
create table made_called using parquet as select made_label(name, age) as label, o.twice from people, lateral made_orders(id) o;
drop table made_called
