select name, (select max(amount) from orders where kind = "a") as top from people
