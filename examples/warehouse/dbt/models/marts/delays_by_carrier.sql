select a.airline, d.flown_on, count(*) as departures, avg(d.arr_delay) as mean_delay
from {{ ref('fct_departures') }} as d
join {{ ref('dim_airlines') }} as a on a.carrier = d.carrier
group by 1, 2
