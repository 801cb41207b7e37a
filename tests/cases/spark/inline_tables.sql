with v(k, label) as (values ('a', 'first'), ('b', 'second'))
select o.no, v.label, t.n, concat(v.label, o.kind) as both from orders o join v on o.kind = v.k cross join range(2) as t(n)
