select
  from_json(name, 'a int, b struct<c: string>').b.c as c,
  get_json_object(city, '$.x') as g,
  t.one, t.two,
  from_csv(name, 'p int, q string').q as q,
  from_json(to_json(named_struct('u', id, 'v', array(named_struct('w', city)))), 'u int, v array<struct<w: string>>').v[0].w as w,
  schema_of_json('{"a": 1}') as s
from people lateral view json_tuple(city, 'one', 'two') t as one, two
