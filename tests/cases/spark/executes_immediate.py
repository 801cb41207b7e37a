spark.sql("declare or replace variable made_who string")
spark.sql("execute immediate 'select max(name) from people where id = :i' into made_who using 1 as i")
text = "create table made_exec using parquet as select kind, made_who as who from orders"
spark.sql(f"declare or replace variable made_text string default '{text}'")
spark.sql("execute immediate made_text")
spark.sql("drop table made_exec")
