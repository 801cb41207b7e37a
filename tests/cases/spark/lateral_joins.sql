select p.id, top.amount as most, top.twice, w.word
from people p,
  lateral (select o.amount, o.no * 2 as twice from orders o where o.person = p.id order by o.amount desc limit 1) as top
  lateral view outer explode(split(p.name, '')) w as word
