{{ config(materialized='materialized_view') }}

select origin, precip > 0 as was_wet, avg(dep_delay) as mean_delay
from {{ ref('fct_departures') }}
group by 1, 2
