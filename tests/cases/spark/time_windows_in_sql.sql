select window.start as begin, city, max(name) as top, std(age) as spread, try_sum(id) as ids, any(age > 35) as old
from (select *, timestamp_seconds(age) as at from people) group by window(at, '10 seconds'), city
