select name, (select max(amount) from orders where person = p.id) as top from people p
