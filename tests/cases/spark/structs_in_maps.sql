with made as (
  select age, map('k', named_struct('a', id, 'b', name)) as m, array(map('k', named_struct('a', id, 'b', city))) as list from people
)
select
  list[0]['k'].a as a,
  map_entries(m)[0].value.a as entry,
  transform_values(m, (k, v) -> v.b)['k'] as turned,
  map_filter(m, (k, v) -> v.a > 0)['k'].b as kept,
  map_from_arrays(array('q'), array(named_struct('u', age)))['q'].u as laid
from made
