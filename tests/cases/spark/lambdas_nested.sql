select
  aggregate(array(id, age), 0, (acc, x) -> acc + x * id, acc -> acc * 10) as folded,
  zip_with(array(name), array(city), (l, r) -> concat(l, r)) as zipped,
  transform(array(name), (x, i) -> concat(x, i, city)) as indexed,
  forall(array(age), x -> x > id) as every,
  array_sort(array(name, city), (l, r) -> length(l) - length(r)) as sorted,
  map_values(transform_values(map('k', age), (k, v) -> v + id)) as turned,
  reduce(array(age), named_struct('n', 0, 'w', name), (acc, x) -> named_struct('n', acc.n + x, 'w', acc.w)).w as word
from people
