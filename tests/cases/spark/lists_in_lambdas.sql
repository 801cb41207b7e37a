select id,
  transform_keys(map_from_arrays(words, array(id, info.x)), (k, v) -> upper(k)) as m,
  zip_with(words, pairs, (w, p) -> concat(w, p.q)) as z,
  get(filter(pairs, p -> p.p > 1), 0).q as f,
  array_sort(words, (a, b) -> case when a < b then -1 else 1 end) as s,
  arrays_zip(words, pairs).pairs[0].q as q,
  element_at(flatten(array(words, array(info.deep.y))), -1) as t
from parquet.`{land}/nested`
