with routes as (
    select origin, dest, avg(dep_delay) as mean_delay, count(*) as departures
    from {{ ref('fct_departures') }}
    group by origin, dest
)

select r.origin, r.dest, a.airport_name, r.mean_delay, r.departures
from routes as r
left join {{ ref('stg_airports') }} as a on a.airport = r.dest
