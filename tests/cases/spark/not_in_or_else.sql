select name from people where id not in (select person from orders where kind = 'b') or age > 35
