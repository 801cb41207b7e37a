with made as (
  select *, array(array(named_struct('a', name, 'b', city)), array(named_struct('a', city, 'b', name))) as grid from people
)
select
  flatten(grid)[0].b as flat,
  filter(flatten(grid), x -> x.b is not null)[0].a as filtered,
  transform(grid, line -> transform(line, x -> named_struct('k', x.a, 'z', age)))[0][0].z as inner_age,
  exists(grid, line -> line[0].a = 'x') as has,
  slice(array(named_struct('p', age, 'q', name)), 1, 1)[0].p as sliced,
  array_sort(array(named_struct('p', age, 'q', name)), (l, r) -> case when l.p < r.p then -1 else 1 end)[0].q as sorted,
  reverse(array_append(array(named_struct('p', age, 'q', name)), named_struct('p', 1, 'q', city)))[0].q as appended
from made
