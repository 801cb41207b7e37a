with made as (select id, map(name, named_struct('a', age, 'b', city)) as m from people)
select e.k as k, e.v.a as a, p.pk as pk, q.deeper_key as deeper_key, q.deeper.b as b
from made
  lateral view explode(m) e as k, v
  lateral view outer posexplode(map(id, m)) p as pos, pk, maps
  lateral view explode(maps) q as deeper_key, deeper
