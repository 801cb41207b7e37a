with made as (select *, map('a', named_struct('n', name, 'c', city)) as m, map(name, age) as by_name from people)
select
  map_concat(m, map('z', named_struct('n', city, 'c', name)))['z'].n as joined,
  map_values(m)[0].c as c,
  transform_keys(by_name, (k, v) -> upper(k)) as keys,
  str_to_map(city, ',', ':')['x'] as parsed,
  e.value.n as en
from made lateral view explode(m) e as key, value
