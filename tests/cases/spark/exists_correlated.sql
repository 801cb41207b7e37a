select name from people p where exists (select 1 from orders o where o.person = p.id and o.amount > 2)
