{{ config(materialized='ephemeral') }}

select f.*, w.temp, w.wind_speed, w.precip, w.visibility
from {{ ref('stg_flights') }} as f
left join {{ ref('stg_weather') }} as w on w.origin = f.origin and w.time_hour = f.time_hour
