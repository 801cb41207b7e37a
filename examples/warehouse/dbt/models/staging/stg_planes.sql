select tailnum, year as built, manufacturer, seats
from {{ source('raw', 'planes') }}
