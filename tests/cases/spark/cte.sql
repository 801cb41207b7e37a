with big as (select person, amount from orders where amount > 2) select a.person, b.amount as other from big a join big b on a.person = b.person
