select
  name,
  first_value(age) ignore nulls over w as first_age,
  nth_value(city, 2) over (partition by city order by id desc rows between unbounded preceding and 1 following) as second,
  sum(sum(age)) over (partition by max(city)) as nested,
  (lead(named_struct('c', min(city), 'i', max(id)), 1) over (order by name)).c as next_city
from people group by name, age, city, id
window w as (partition by city order by id desc)
