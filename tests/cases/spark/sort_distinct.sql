select distinct city from people order by city
