with made as (select age, array(name) as names, array(city) as cities, array(named_struct('i', id, 'n', name)) as pairs from people)
select
  arrays_zip(names, cities)[0].names as zipped,
  zip_with(names, cities, (l, r) -> named_struct('l', l, 'r', r))[0].r as joined,
  aggregate(pairs, named_struct('t', 0, 'c', age), (acc, x) -> named_struct('t', acc.t + x.i, 'c', acc.c), acc -> acc.c) as folded,
  try_element_at(pairs, 1).n as element,
  array_distinct(pairs)[0].i as one
from made
