select city, count(*) as n, sum(age) as total, max(name) filter (where age > 10) as top from people group by city
