with daily as (select city, hll_sketch_agg(name) as sketch, count_if(age > 35) as old from people group by city)
select hll_sketch_estimate(hll_union_agg(sketch)) as people, sum(old) as old,
  (select percentile_approx(amount, 0.5) from orders) as middle,
  (select regr_slope(amount, no) from orders) as slope, max_by(city, old) as oldest
from daily
