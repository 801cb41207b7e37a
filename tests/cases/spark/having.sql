select city, avg(age) as mean from people group by city having count(id) > 1
