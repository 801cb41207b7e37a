select coalesce(kind, 'all') as kind, person, grouping(kind) as g, sum(amount) as total, max(struct(amount, no)).no as top
from orders group by grouping sets ((kind, person), (kind), ()) having sum(amount) > 1
