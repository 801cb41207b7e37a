select name from people where id in (select person from orders where kind = "a")
