select c.carrier, max(c.mean_years) as oldest
from {{ ref('aircraft_age_by_carrier') }} as c
group by 1
order by 2 desc
