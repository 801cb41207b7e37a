from orders
|> where amount > 1
|> extend amount * 2 as twice
|> set kind = upper(kind)
|> join people on id = person
|> aggregate sum(twice) as total, max(age) as oldest group by kind, city
|> order by total desc
|> drop city
|> as t
|> select t.kind as k, total + 1 as more, oldest
