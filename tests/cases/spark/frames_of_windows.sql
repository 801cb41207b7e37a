select no,
  sum(amount) over (partition by person order by no rows between 1 preceding and current row) as moving,
  avg(amount) over (order by no range between 2 preceding and 1 following) as near,
  last_value(kind) ignore nulls over (partition by person order by amount) as latest,
  ntile(2) over (order by amount desc) as half,
  amount / sum(amount) over (partition by kind) as share,
  count(*) over (partition by person) as n,
  lag(amount, 1, 0.0) over (partition by person order by no) as before
from orders
