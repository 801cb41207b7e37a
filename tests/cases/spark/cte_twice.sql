with both as (select id, name as n, age + 1 as g from people)
select a.n, b.g from both a join both b on a.id = b.id
