select n.id, w.pos, w.word, p.q, z.c
from parquet.`{land}/nested` n
  lateral view outer posexplode(words) w as pos, word
  lateral view inline(pairs) p as k, q
  lateral view explode(array(w.word, p.q)) z as c
