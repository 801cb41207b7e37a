select
    carrier || flight || '-' || to_char(make_date(year, month, day), 'YYYYMMDD') || '-' || origin || coalesce(sched_dep_time::text, '') as departure_id,
    make_date(year, month, day) as flown_on,
    carrier,
    flight,
    tailnum,
    origin,
    dest,
    dep_delay,
    arr_delay,
    distance,
    dep_time is null as is_cancelled,
    time_hour
from {{ source('raw', 'flights') }}
