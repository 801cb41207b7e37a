select name from people where (id, city) in (select person, kind from orders where amount > 1)
