declare or replace variable made_limit int default 1;
set var made_limit = (select max(age) from people);
create table made_limited using parquet as select no from orders where amount < made_limit;
execute immediate 'create table made_said using parquet as select no + ? as no from orders' using 5;
drop table made_limited;
drop table made_said;
drop temporary variable made_limit
