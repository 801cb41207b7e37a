select origin, time_hour, temp, wind_speed, precip
from {{ source('raw', 'weather') }}
