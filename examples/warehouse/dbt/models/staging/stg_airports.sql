select faa as airport, name as airport_name, lat, lon, tzone
from {{ source('raw', 'airports') }}
