select name, row_number() over (partition by city order by age) as place, sum(age) over (partition by city) as total, lag(name) over (order by id) as before from people
