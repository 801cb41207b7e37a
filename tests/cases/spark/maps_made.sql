with made as (
  select
    id,
    map_from_arrays(array(name), array(age)) as laid,
    map_from_entries(array(struct(city, named_struct('i', id)))) as paired,
    transform_keys(map(name, age), (k, v) -> concat(k, city)) as keyed,
    transform_values(map(name, age), (k, v) -> v + id) as valued,
    map_zip_with(map(name, age), map(city, id), (k, a, b) -> a + b) as zipped,
    map_concat(map(name, age), map(city, id)) as joined,
    map_filter(map(name, age), (k, v) -> v > 1) as kept,
    from_json(to_json(map(name, age)), 'map<string,int>') as parsed,
    if(id > 1, map(name, age), map(city, id)) as chosen
  from people
)
select
  map_keys(laid) as laid_keys, map_values(laid) as laid_values,
  map_keys(paired) as paired_keys, map_values(paired)[0].i as paired_value,
  map_keys(keyed) as keyed_keys, map_values(keyed) as keyed_values,
  map_keys(valued) as valued_keys, map_values(valued) as valued_values,
  map_keys(zipped) as zipped_keys, map_values(zipped) as zipped_values,
  map_keys(joined) as joined_keys, map_values(joined) as joined_values,
  map_keys(kept) as kept_keys, map_values(kept) as kept_values,
  map_keys(parsed) as parsed_keys, parsed['ann'] as parsed_value,
  map_keys(chosen) as chosen_keys
from made
