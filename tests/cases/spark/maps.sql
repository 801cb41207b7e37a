with made as (
  select id, map('a', named_struct('n', name, 'c', city)) as m, map(name, age) as by_name, str_to_map(city, ',', ':') as parsed from people
)
select
  map_concat(m, map('z', named_struct('n', city, 'c', name)))['z'].n as joined,
  map_zip_with(m, by_name, (k, l, r) -> named_struct('l', l.n, 'r', r))['a'].r as zipped,
  map_keys(by_name)[0] as key,
  map_values(m)[0].c as c,
  transform_keys(by_name, (k, v) -> upper(k)) as keys,
  parsed['x'] as p,
  e.key as ek, e.value.n as en
from made lateral view explode(m) e as key, value
