with recursive chain(n, who) as (select id, name from people union all select n + 1, kind from chain join orders on no = n where n < 3)
select n, who from chain
