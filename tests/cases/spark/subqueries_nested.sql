select
  p.name,
  case when p.age > (select avg(amount) from orders) then (select min(kind) from orders o where o.person = p.id) else p.city end as label
from people p
where p.id in (select person from orders o where o.amount > (select min(amount) from orders i where i.kind = o.kind))
  and p.city not in (select kind from orders)
