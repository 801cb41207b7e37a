select d.flown_on, d.origin, b.band, count(*) as departures, avg(d.dep_delay) as mean_delay
from {{ ref('fct_departures') }} as d
join {{ ref('delay_bands') }} as b on d.dep_delay >= b.least and d.dep_delay < b.most
where not d.is_cancelled
group by 1, 2, 3
