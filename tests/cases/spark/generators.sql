select p.id, s.what, s.held, n.q, at, one
from parquet.`{land}/nested` p
lateral view stack(2, 'x', info.x, 'id', id) s as what, held
lateral view outer inline(pairs) n as pp, q
lateral view posexplode_outer(words) w as at, one
