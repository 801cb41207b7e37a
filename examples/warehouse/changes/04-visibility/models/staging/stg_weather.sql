select origin, time_hour, temp, wind_speed, precip, visib as visibility
from {{ source('raw', 'weather') }}
