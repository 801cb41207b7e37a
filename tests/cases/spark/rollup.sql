select kind, person, sum(amount) as total from orders group by rollup(kind, person)
