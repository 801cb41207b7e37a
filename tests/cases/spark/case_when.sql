select case when age > 30 then name else city end as label, if(id = 1, age, 0) as some, coalesce(name, city) as first from people
