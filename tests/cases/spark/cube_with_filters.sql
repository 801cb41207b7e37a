select city, kind, sum(amount) filter (where kind <> 'b') as s, count(distinct name) as c
from people join orders on id = person group by cube(city, kind)
