select
  (case when age > 35 then named_struct('a', id, 'b', name) else named_struct('a', age, 'b', city) end).b as chosen,
  (select named_struct('t', sum(amount), 'k', max(kind)) from orders).t as summed
from people
