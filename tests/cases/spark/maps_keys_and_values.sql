with made as (select id, city, map(name, age) as m, map('k', named_struct('a', id, 'b', city)) as fixed from people)
select
  m as whole,
  map_keys(m) as ks,
  map_values(m) as vs,
  m['ann'] as one,
  element_at(m, city) as at,
  try_element_at(m, 'bob') as tried,
  map_entries(m)[0].key as entry_key,
  map_entries(m)[0].value as entry_value,
  map_contains_key(m, city) as has,
  map_keys(fixed) as constant,
  map_values(fixed)[0].b as inner_b,
  fixed['k'].a as inner_a
from made
