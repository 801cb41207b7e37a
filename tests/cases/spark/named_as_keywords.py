spark.sql(
    """
select array[0].q as aq, list[0] as l, map['k'] as m, struct.f as s, row.g as r, date[0] as d, timestamp['t'] as ts, interval[0] as i,
  exists[0] as e, exists(exists, x -> x > age) as eb, transform(transform, x -> x + age) as tt, filter[0] as f, filter(filter, x -> x > 0) as ff,
  size(array) as n
from (
  select age, array(named_struct('p', id, 'q', name)) as array, array(age) as list, map('k', city) as map, named_struct('f', name) as struct,
    named_struct('g', age) as row, array(id) as date, map('t', name) as timestamp, array(age) as interval, array(id) as exists,
    array(age) as filter, array(id) as transform
  from people
)
"""
).write.parquet(f"{out}/lists")
spark.sql("select interval + 1 as x, interval - age as y from (select id as interval, age from people)").write.parquet(
    f"{out}/numbers"
)
