spark.sql(
    """
begin
  declare most int;
  set most = (select max(age) from people);
  if most > 1 then
    create table made_script using parquet as select id from people where age < most;
  end if;
  for o as select person, amount from orders where no = 1 do
    insert into made_script select o.person from people where id = 1;
  end for;
  drop table made_script;
end
"""
)
