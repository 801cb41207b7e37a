select * from (select id as person, name from people) p natural full outer join (select person, amount from orders) o
