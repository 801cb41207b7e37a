select id,
  filter(words, w -> w > info.deep.y) as by_other,
  filter(pairs, p -> p.p > 1) as by_field,
  get(filter(pairs, p -> p.p between 1 and info.x), 0).q as field,
  filter(words, (w, i) -> i > id) as by_place,
  map_filter(map_from_arrays(words, array(id, info.x)), (k, v) -> v > 1) as by_value,
  size(filter(transform(pairs, p -> p.p), n -> n > id)) as counted,
  exists(pairs, p -> p.q = info.deep.y) as has,
  forall(pairs, p -> p.p > 0) as has_all,
  zip_with(pairs, words, (p, w) -> concat(p.q, w)) as zipped,
  transform(pairs, p -> p.q) as parts
from parquet.`{land}/nested`
