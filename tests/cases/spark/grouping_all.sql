select city, age > 30 as old, grouping_id(city, age > 30) as level, count(distinct name) as n, percentile(age, 0.5) as mid,
  listagg(name, ',') within group (order by id) as names, mode(city) as often
from people group by cube(city, age > 30) having count_if(id > 0) > 0 order by all
