select * from (select person, kind, amount from orders) pivot (sum(amount) for kind in ('a' as a, 'b' as b))
