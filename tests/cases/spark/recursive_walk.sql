with recursive tree(id, root, depth) as (
  select person, kind, 0 from orders where no = 1
  union all
  select p.id + 1, t.root, t.depth + 1 from tree t join people p on p.id = t.id where t.depth < 2
)
select root, max(depth) as deep, count(*) as n from tree group by root
