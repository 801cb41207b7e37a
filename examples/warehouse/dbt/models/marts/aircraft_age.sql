select f.tailnum, f.flown_on, f.carrier, extract(year from f.flown_on) - p.built as years
from {{ ref('stg_flights') }} as f
join {{ ref('stg_planes') }} as p on p.tailnum = f.tailnum
