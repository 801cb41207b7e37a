select carrier, flown_on, avg(years) as mean_years, count(*) as departures
from {{ ref('aircraft_age') }}
group by 1, 2
